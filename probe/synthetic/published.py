"""The numbers printed in the paper's Tables 3 and 4 (Appendix E.2)."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A mean and its standard deviation over runs; None where none is printed."""

    mean: float
    std: float | None


class Row(NamedTuple):
    """Average attention by class of pair, in the order of `measures.CLASSES`."""

    same_word: Printed
    same_topic: Printed
    different_topic: Printed
    runs: int


TABLE_3 = {
    ("adam", 0.003): Row(Printed(0.00759, 0.00171), Printed(0.0108, 0.000657), Printed(0.00689, 0.000160), 3),
    ("adam", 0.01): Row(Printed(0.00811, 0.000705), Printed(0.0100, 0.000392), Printed(0.00707, 0.000178), 3),
    ("adam", 0.03): Row(Printed(0.00453, 0.000346), Printed(0.0116, 0.000460), Printed(0.00665, 0.000200), 3),
    ("sgd", 0.01): Row(Printed(0.0105, None), Printed(0.0106, None), Printed(0.00673, None), 1),
    ("sgd", 0.03): Row(Printed(0.0140, 0.00158), Printed(0.0103, 0.000357), Printed(0.00641, 0.0000239), 3),
}
"""By optimizer and learning rate; SGD at 0.003 failed there and has no row."""

TABLE_4 = {
    ("adam", 0.003): Row(Printed(0.0916, 0.000901), Printed(0.00185, 0.000170), Printed(0.00256, 0.0000332), 7),
    ("adam", 0.01): Row(Printed(0.0918, 0.00244), Printed(0.00182, 0.000474), Printed(0.00256, 0.000109), 7),
}
"""By optimizer and learning rate; 7 runs of 10."""
