"""A loaded model, and how it is listened to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from probe.errors import ProbeError, reason
from probe.models.eager import Map, hearing_maps
from probe.models.families import Attention, Family, Weights, measured_stack
from probe.models.interface import Call, hearing_calls


@dataclass(frozen=True)
class Stack:
    """The part of a model whose attention is measured.

    Attributes:
        run: the module that is called.
        first_layer: the module whose first input is the output of the embedding layer.
        attention_modules: the modules listened to; None for all in `run`.
        decoder_input: whether a decoder reads the passage, shifted by one token; None for a stack that reads it as is.
        query_shift, key_shift: how far a token's query and key stand after its place in the passage.
    """

    run: nn.Module
    first_layer: nn.Module
    attention_modules: frozenset[nn.Module] | None = None
    decoder_input: Literal["made by the model", "shifted here"] | None = None
    query_shift: int = 0
    key_shift: int = 0


def find_stack(module: nn.Module, family: Family, attention: Attention) -> Stack:
    """Find what is listened to.

    Raises:
        ProbeError: the layers of an unknown architecture cannot be found.
    """
    if attention == "encoder" or not family.encoder_decoder:
        stack = measured_stack(module, family)
        layers = stack.get_submodule(family.layers) if family.layers else _layers_of_unknown(stack, module, family)
        return Stack(stack, layers[0])
    decoder = family.decoder
    assert decoder is not None
    layers = module.get_decoder().get_submodule(decoder.layers)
    path = decoder.cross_attention if attention == "cross" else decoder.self_attention
    return Stack(
        run=module,
        first_layer=layers[0],
        attention_modules=frozenset(layer.get_submodule(path) for layer in layers),
        decoder_input="made by the model" if decoder.shifts_input else "shifted here",
        query_shift=1,
        key_shift=0 if attention == "cross" else 1,
    )


def _layers_of_unknown(stack: nn.Module, module: nn.Module, family: Family) -> nn.ModuleList:
    for part in stack.modules():
        if isinstance(part, nn.ModuleList) and len(part) == module.config.num_hidden_layers:
            return part
    raise ProbeError(f"The layers of a {family.name} model cannot be found: its architecture is not supported.")


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to be measured, on its device.

    Attributes:
        name: as the user gave it.
        weights: "pretrained" or "random".
        module: the transformers model.
        family: what its architecture can do.
        stack: the part that is measured.
        layers, heads: how many attention maps a passage has.
        width: of the embedding layer's output.
        causal: no query sees a key after it.
        oddities: what is suspicious of the weights; each is the end of a sentence.
    """

    name: str
    weights: Weights
    module: nn.Module
    family: Family
    stack: Stack
    layers: int
    heads: int
    width: int
    causal: bool
    oddities: tuple[str, ...] = ()

    @property
    def device(self) -> torch.device:
        """Where the model takes its input."""
        return input_device(self.module)

    @torch.inference_mode()
    def listen(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        on_attention: Callable[[int, Call | Map], None],
        on_embeddings: Callable[[torch.Tensor], None] | None = None,
    ) -> None:
        """Run the model on a batch until the last attention layer has been heard.

        Args:
            input_ids, attention_mask: [batch, length], padded on the right.
            on_attention: called with the number of each layer and what it gives. Layers are counted by call: ALBERT
                runs one module many times.
            on_embeddings: called once, with the embedding layer's output, [batch, length, width].

        Raises:
            ProbeError: the model gave fewer attention maps than it has layers.
        """
        self.module.eval()
        heard = 0
        embedded = False

        def hear(call: Call | Map) -> None:
            nonlocal heard
            if self.stack.attention_modules is None or call.module in self.stack.attention_modules:
                with _listening():
                    on_attention(heard, call)
                heard += 1
                if heard == self.layers:
                    raise _AllHeardError

        def embeddings(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            nonlocal embedded
            del module
            if on_embeddings is not None and not embedded:
                with _listening():
                    on_embeddings(args[0] if args else kwargs["hidden_states"])
                embedded = True

        hook = self.stack.first_layer.register_forward_pre_hook(embeddings, with_kwargs=True)
        hearing: AbstractContextManager[None]
        hearing = hearing_calls(hear) if self.family.interface else hearing_maps(self.stack.run, hear)
        try:
            with hearing:
                forward(self.stack, input_ids, attention_mask, **self._asking_for_maps())
        except _AllHeardError:
            return
        except _ListenerError as error:
            raise error.raised from None
        except Exception as error:
            raise ProbeError(
                f"{self.name} fails on {len(input_ids)} passages of {input_ids.shape[1]} tokens ({reason(error)}): use "
                "a smaller --max-length or --batch-tokens, or an intact model."
            ) from error
        finally:
            hook.remove()
        raise ProbeError(
            f"{self.name} gave {heard} attention maps instead of {self.layers}: its architecture is not supported."
        )

    def _asking_for_maps(self) -> dict[str, bool]:
        # Layers that transformers records by hooks return their maps unasked; if asked, it would hold all of them.
        recorded = getattr(self.module, "_can_record_outputs", None)
        return {} if self.family.interface or recorded else {"output_attentions": True}


def input_device(module: nn.Module) -> torch.device:
    """Where a model takes its input: its device, or the first of those that it is spread over."""
    spread = getattr(module, "hf_device_map", None)
    if not spread:
        return next(module.parameters()).device
    first = next(iter(spread.values()))
    # What lies on disk is computed in main memory.
    return torch.device("cpu" if first == "disk" else first)


class _AllHeardError(Exception):
    """Every layer that is asked for has been heard: the rest of the forward pass is not needed."""


class _ListenerError(Exception):
    """Whoever listens has failed, and not the model."""

    def __init__(self, raised: Exception):
        super().__init__()
        self.raised = raised


@contextmanager
def _listening() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise _ListenerError(error) from error


def forward(stack: Stack, input_ids: torch.Tensor, attention_mask: torch.Tensor, **options: Any) -> Any:
    """Run a stack on a batch.

    Args:
        stack: of a model.
        input_ids, attention_mask: [batch, length].
        options: passed to the model.
    """
    if stack.decoder_input == "shifted here":
        start = torch.full_like(input_ids[:, :1], stack.run.config.decoder_start_token_id)
        options["decoder_input_ids"] = torch.cat([start, input_ids[:, :-1]], dim=1)
    if "use_cache" in inspect.signature(stack.run.forward).parameters:
        options["use_cache"] = False
    return stack.run(input_ids=input_ids, attention_mask=attention_mask, **options)
