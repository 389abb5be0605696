"""Several processes that share one run, as `torchrun` starts them.

Every rank tokenizes its share of the documents and passes the model over its share of the batches; rank 0 fits the
topics, adds up the sums, and writes. What ranks exchange lies in main memory (gloo), wherever the models are.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from probe.errors import ProbeError

T = TypeVar("T")
# A rank that dies is noticed at once; one that waits may wait for a long fit of topics.
_PATIENCE = timedelta(days=7)
_ENDED = (
    "Another rank of this run has ended, and its own message says why: once that is mended, the same command goes on "
    "from what was finished."
)


@dataclass(frozen=True)
class Ranks:
    """This process among those that share a run.

    Attributes:
        rank: its number, from 0.
        size: how many there are.
        local: its number on its machine, which is that of its GPU.
    """

    rank: int = 0
    size: int = 1
    local: int = 0

    @property
    def leads(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    def share(self, value: T) -> T:
        """What rank 0 gives, on every rank.

        Raises:
            ProbeError: a rank is gone.
        """
        if self.size == 1:
            return value
        import torch.distributed as dist

        values: list[Any] = [value if self.leads else None]
        with _minding_the_others():
            dist.broadcast_object_list(values, src=0)
        return values[0]

    def add(self, array: np.ndarray) -> None:
        """Add up an array over all ranks, in place; the sum is rank 0's alone."""
        if self.size > 1:
            import torch
            import torch.distributed as dist

            with _minding_the_others():
                dist.reduce(torch.from_numpy(array), dst=0)

    def send(self, value: Any) -> None:
        """Send something to rank 0, which must `receive` it."""
        import torch.distributed as dist

        with _minding_the_others():
            dist.send_object_list([value], dst=0)

    def receive(self, rank: int) -> Any:
        """What another rank sends to this one."""
        import torch.distributed as dist

        value: list[Any] = [None]
        with _minding_the_others():
            dist.recv_object_list(value, src=rank)
        return value[0]


ALONE = Ranks()


def ranks_started() -> int:
    """How many processes `torchrun` has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_leader() -> bool:
    """Whether this process is rank 0, or on its own."""
    return os.environ.get("RANK", "0") == "0"


def join_ranks() -> Ranks:
    """Join the other processes that `torchrun` has started; a process on its own is rank 0 of one."""
    size = ranks_started()
    if size == 1:
        return ALONE
    import torch.distributed as dist

    if not dist.is_initialized():
        # torchrun ends the others when a rank has died.
        signal.signal(signal.SIGTERM, _end)
        with _minding_the_others():
            dist.init_process_group("gloo", timeout=_PATIENCE)
        # Its threads would otherwise be cut off when the process ends.
        atexit.register(dist.destroy_process_group)
    return Ranks(dist.get_rank(), size, int(os.environ.get("LOCAL_RANK", "0")))


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise ProbeError(_ENDED)


@contextmanager
def _minding_the_others() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise ProbeError(_ENDED) from error
