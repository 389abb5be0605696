"""Make a folder of the zoo from a finished training of `probe pretrain`.

python -m probe.zoo.card my-bert probe/zoo/bert --text "articles of the English Wikipedia" --license "CC BY-SA 3.0"
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from probe.errors import ProbeError
from probe.files import whole_file

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST = 4_000_000
"""Bytes that the weights of a model of the zoo may have."""

_CARD = """\
# {name}

A small {family} for `probe run --model {name}`: {parameters:.2f} million parameters, vocabulary {vocabulary:,},
passages of at most 128 tokens. It is **not a substitute for the published checkpoints** of its family: it has seen
{tokens:.1f} million tokens, knows little of the language, and serves to show topic structure in trained weights where
no download is possible.

| | |
|---|---|
| text | {text}: {documents:,} documents, {corpus_tokens:,} tokens |
| licence of the text | {license} |
| command | `{command}` |
| steps | {steps:,} |
| tokens seen | {tokens_seen:,}, special tokens included, padding not |
| loss | {loss:.3f} in the last step, {held_out_loss:.3f} on held-out documents |
| time | {minutes:.1f} minutes ({device}) |
| versions | {versions} |

One document in 50 was kept out of training. The weights are stored in half precision and loaded as float32. The
pretraining head is left out; a pooler, where there is one, is random. Every argument is in `pretrain.json`, and
`docs/pretraining.md` says what is trained and how.
"""


def make_zoo_folder(training: Path, folder: Path, text: str, license: str) -> None:
    """Write a model, its tokenizer, its card and the record of its training into a folder of the zoo.

    Nothing written names a place of the machine it was trained on.

    Args:
        training: a folder that `probe pretrain` finished.
        folder: of the zoo; its name is that of the model.
        text: what the model was trained on, in words.
        license: of the text.

    Raises:
        ProbeError: the training is not finished, or its weights are too large for the zoo.
    """
    from transformers import AutoModel

    from probe.models.loading import find_model, load_tokenizer
    from probe.pretraining.saving import save_model

    record = training / "pretrain.json"
    if not record.is_file():
        raise ProbeError(f"The folder {training} holds no finished training: run probe pretrain to its end.")
    info = json.loads(record.read_text(encoding="utf-8"))
    info["arguments"]["corpus"] = Path(info["arguments"]["corpus"]).name
    tokenizer, model = load_tokenizer(find_model(str(training))), AutoModel.from_pretrained(training)
    size = 2 * model.num_parameters()
    if size > LARGEST:
        raise ProbeError(f"The weights of {training} take {size:,} bytes, more than {LARGEST:,}: train a smaller one.")
    save_model(model, tokenizer, folder, "float16")
    for name, content in (
        ("pretrain.json", json.dumps(info, indent=2, sort_keys=True) + "\n"),
        ("README.md", card(folder.name, info, text, license)),
    ):
        with whole_file(folder / name) as place:
            place.write_text(content, encoding="utf-8")


def card(name: str, info: Mapping[str, Any], text: str, license: str) -> str:
    """The model card of a training.

    Args:
        name: of the model in the zoo.
        info: the content of `pretrain.json`.
        text: what the model was trained on, in words.
        license: of the text.
    """
    return _CARD.format(
        name=f"zoo/{name}",
        family={"bert": "BERT", "roberta": "RoBERTa"}.get(name, name.upper()),
        parameters=info["parameters"] / 1e6,
        vocabulary=info["vocabulary"],
        tokens=info["tokens"] / 1e6,
        text=text,
        documents=info["corpus_documents"],
        corpus_tokens=info["corpus_tokens"],
        license=license,
        command=_command(info["arguments"]),
        steps=info["arguments"]["steps"],
        tokens_seen=info["tokens"],
        loss=info["loss"],
        held_out_loss=info["held_out_loss"],
        minutes=info["seconds"] / 60,
        device=info["device"],
        versions=", ".join(f"{package} {version}" for package, version in info["versions"].items()),
    )


def _command(arguments: Mapping[str, Any]) -> str:
    """The command of a training; arguments at their defaults are left out."""
    from probe.pretraining.training import PretrainSettings

    given = {
        field.name: arguments[field.name]
        for field in fields(PretrainSettings)
        if field.name != "device" and arguments[field.name] != field.default
    }
    # Written out whatever the default, so that the card says how long and on what.
    given |= {"corpus": arguments["corpus"], "steps": arguments["steps"]}
    options = [f"--{option.replace('_', '-')} {value}" for option, value in given.items()]
    return " ".join(["probe pretrain", *options, f"--out {arguments['family']}"])


def _main(
    training: Annotated[Path, typer.Argument(help="A folder that probe pretrain finished.")],
    folder: Annotated[Path, typer.Argument(help="A folder of the zoo.")],
    text: Annotated[str, typer.Option(help="What the model was trained on, in words.")],
    license: Annotated[str, typer.Option(help="Of the text.")],
) -> None:
    """Make a folder of the zoo from a finished training."""
    try:
        make_zoo_folder(training, folder, text, license)
    except ProbeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    typer.run(_main)
