"""Where a model runs and in which number format."""

from __future__ import annotations

from importlib.util import find_spec

from probe.errors import ProbeError

SPREAD = "spread"


def choose_device(name: str, number: int | None = None) -> str:
    """A torch device by name; "auto" is a GPU where there is one.

    Args:
        name: of a device, "auto", or "spread" for all GPUs together, and main memory where they do not suffice.
        number: of the GPU where none is named, for one of several ranks on a machine.

    Raises:
        ProbeError: there is no such device.
    """
    import torch

    if name == SPREAD:
        if find_spec("accelerate") is None:
            raise ProbeError("--device spread needs accelerate: run pip install 'topic-probe[large]'.")
        return name
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and number is not None:
        name = f"cuda:{number}"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ProbeError(f"--device {name} is not available on this machine: use cpu, or leave it out.") from error
    return name


def choose_dtype(name: str, device: str) -> str:
    """A torch dtype by name; "auto" is bfloat16 where the processor or GPU computes in it, and so is faster."""
    import torch

    if name != "auto":
        return name
    if device.startswith("cuda") or (device == SPREAD and torch.cuda.is_available()):
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # Asked of the processor, not of a clock: the same command must choose the same type every time.
        native = device in ("cpu", SPREAD) and (
            torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        )
    return "bfloat16" if native else "float32"
