"""`python -m probe`."""

from probe.cli import main

main()
