"""`probe synthetic`: the paper's sandbox."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from probe.synthetic.runs import Result
    from probe.synthetic.topic_model import Masking, TopicModel

app = typer.Typer(
    name="synthetic",
    help="The paper's sandbox: topic-model documents, a one-layer transformer, its theorems and its figures.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Topics = Annotated[int, typer.Option("--topics", help="T, topics of the model.")]
Words = Annotated[int, typer.Option("--words-per-topic", help="v, words of each topic.")]
PMask = Annotated[float, typer.Option("--p-mask", help="p_m, share of positions that are predicted.")]
PCorrect = Annotated[float, typer.Option("--p-correct", help="p_c, share of those that keep their word.")]
PRandom = Annotated[float, typer.Option("--p-random", help="p_r, share of those that show a random word.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


class LossName(StrEnum):
    """Names of the losses."""

    cross_entropy = "cross-entropy"
    squared = "squared"


class OptimizerName(StrEnum):
    """Names of the optimizers."""

    adam = "adam"
    sgd = "sgd"


class ScheduleName(StrEnum):
    """Names of the schedules."""

    joint = "joint"
    two_stage = "two-stage"
    alternating = "alternating"


class EmbeddingName(StrEnum):
    """What W^E may be."""

    one_hot = "one-hot"
    trained = "trained"


class AttentionName(StrEnum):
    """What W^K and W^Q may be."""

    trained = "trained"
    uniform = "uniform"


class ValueName(StrEnum):
    """What W^V may be."""

    trained = "trained"
    identity = "identity"
    block = "block"
    theorem2 = "theorem2"
    diagonal = "diagonal"


class HeadName(StrEnum):
    """What W^pred may be."""

    tied = "tied"
    identity = "identity"
    free = "free"


class BiasName(StrEnum):
    """What b^pred may be."""

    trained = "trained"
    zero = "zero"
    theorem1 = "theorem1"


@app.command()
def theory(
    topics: Topics = 10,
    words_per_topic: Words = 10,
    tau: Annotated[int, typer.Option("--tau", help="τ, topics of a document.")] = 3,
    p_mask: PMask = 0.15,
    p_correct: PCorrect = 0.1,
    p_random: PRandom = 0.1,
    json_output: JsonOption = False,
) -> None:
    """Print Theorems 1 to 5 at one setting, each beside the optimum found without it.

    Example: [bold]probe synthetic theory --topics 10 --words-per-topic 10 --p-mask 0.15 --json[/bold]
    """
    import json

    from probe.synthetic.comparison import compare
    from probe.synthetic.topic_model import Masking, TopicModel

    model = TopicModel(topics, words_per_topic, topics_per_document=tau)
    report = compare(model, Masking(p_mask, p_correct, p_random))
    if json_output:
        print(json.dumps(report, indent=2))
        return
    from rich.table import Table

    def shown(name: str) -> str:
        entry = report.get(name)
        if isinstance(entry, bool):
            return "yes" if entry else "no"
        return "-" if entry is None else f"{entry:.10g}" if isinstance(entry, float) else entry

    table = Table("quantity", "formula", "found without it", box=None, header_style="bold")
    for label, formula, numeric in (
        ("Theorem 2: W^V, mask column", "value_mask_column", "numeric_value_mask_column"),
        ("Theorem 2: W^V, same topic", "value_same_topic", "numeric_value_same_topic"),
        ("Theorem 2: W^V, different topic", "value_different_topic", "numeric_value_different_topic"),
        ("Theorem 1: same minus different topic", "embedding_gap", "numeric_embedding_gap"),
    ):
        table.add_row(label, shown(formula), shown(numeric))
    for label, low, high, found, holds in (
        ("Theorem 3: γ between", "theorem3_low", "theorem3_high", "theorem3_gamma", "theorem3_holds"),
        ("Theorem 5: β between", "theorem5_beta_low", "theorem5_beta_high", "theorem5_beta", "theorem5_holds"),
    ):
        table.add_row(label, f"{shown(low)} and {shown(high)}", f"{shown(found)} (holds: {shown(holds)})")
    ratio = ""
    if isinstance(report["theorem5_alpha"], float) and isinstance(report["theorem5_beta"], float):
        ratio = f"{report['theorem5_alpha'] / report['theorem5_beta']:.10g}"
    table.add_row("Theorem 5: α/β below", shown("theorem5_alpha_over_beta"), ratio)
    from probe.show.terminal import plain_console

    console = plain_console()
    console.print(table)
    if report["notes"]:
        console.print(report["notes"])


@app.command()
def train(
    topics: Topics = 10,
    words_per_topic: Words = 10,
    tau: Annotated[
        int | None, typer.Option("--tau", help="τ, topics of a document; without it they are Dirichlet.")
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Concentration of the Dirichlet.")] = 0.1,
    documents: Annotated[int, typer.Option("--documents", help="Training documents.")] = 10_000,
    shortest: Annotated[int, typer.Option("--shortest", help="Shortest document.")] = 100,
    longest: Annotated[int, typer.Option("--longest", help="Longest document.")] = 150,
    data: Annotated[Path | None, typer.Option("--data", help="Train on this file instead (word numbers, END).")] = None,
    save_data: Annotated[
        Path | None, typer.Option("--save-data", help="Write the documents drawn to this file.")
    ] = None,
    data_seed: Annotated[int, typer.Option("--data-seed", help="Seed of the documents.")] = 0,
    p_mask: PMask = 0.15,
    p_correct: PCorrect = 0.1,
    p_random: PRandom = 0.1,
    embedding: Annotated[EmbeddingName, typer.Option("--embedding", help="W^E.")] = EmbeddingName.one_hot,
    attention: Annotated[AttentionName, typer.Option("--attention", help="W^K and W^Q.")] = AttentionName.trained,
    value: Annotated[ValueName, typer.Option("--value", help="W^V.")] = ValueName.trained,
    head: Annotated[HeadName, typer.Option("--head", help="W^pred.")] = HeadName.tied,
    prediction_bias: Annotated[BiasName, typer.Option("--prediction-bias", help="b^pred.")] = BiasName.zero,
    biases: Annotated[bool, typer.Option(help="b^K, b^Q and b^V.")] = True,
    layers: Annotated[int, typer.Option("--layers", help="Layers, one head each.")] = 1,
    hide_masked: Annotated[bool, typer.Option("--hide-masked", help="Do not attend to predicted positions.")] = False,
    static_masks: Annotated[bool, typer.Option("--static-masks", help="Draw the masks once.")] = False,
    loss: Annotated[LossName, typer.Option("--loss", help="Loss.")] = LossName.cross_entropy,
    optimizer: Annotated[OptimizerName, typer.Option("--optimizer", help="Optimizer.")] = OptimizerName.adam,
    learning_rate: Annotated[list[float] | None, typer.Option("--learning-rate", help="May be repeated.")] = None,
    seed: Annotated[list[int] | None, typer.Option("--seed", help="May be repeated.")] = None,
    l2: Annotated[float, typer.Option("--l2", help="λ of λ‖·‖²_F.")] = 0.0,
    steps: Annotated[int, typer.Option("--steps", help="Steps of gradient descent.")] = 3000,
    batch_size: Annotated[int, typer.Option("--batch-size", help="Documents a step.")] = 40,
    schedule: Annotated[ScheduleName, typer.Option("--schedule", help="What is trained when.")] = ScheduleName.joint,
    stage_steps: Annotated[int, typer.Option("--stage-steps", help="Steps of a stage.")] = 1000,
    patience: Annotated[
        int | None, typer.Option("--patience", help="Measurements without a better loss before a run stops.")
    ] = None,
    init_scale: Annotated[
        float | None, typer.Option("--init-scale", help="W^K, W^Q, W^V uniform in ± this; torch's default without it.")
    ] = None,
    embedding_scale: Annotated[
        float, typer.Option("--embedding-scale", help="Standard deviation of W^E at first.")
    ] = 0.02,
    value_diagonal: Annotated[
        float, typer.Option("--value-diagonal", help="Added to the diagonal of W^V at first.")
    ] = 0.0,
    device: Annotated[str, typer.Option("--device", help="Where it runs, as torch names it.")] = "cpu",
    out: Annotated[Path | None, typer.Option("--out", help="Folder for runs.csv, history.csv and weights.npz.")] = None,
) -> None:
    """Train the paper's transformer; all seeds and learning rates are trained together.

    Example: [bold]probe synthetic train --learning-rate 0.003 --learning-rate 0.01 --seed 0 --seed 1[/bold]
    """
    from probe.show.progress import ConsoleProgress
    from probe.synthetic.runs import Training
    from probe.synthetic.topic_model import Documents, Masking, TopicModel
    from probe.synthetic.training import train as train_runs
    from probe.synthetic.transformer import Architecture, Initialization

    model = TopicModel(topics, words_per_topic, tau, alpha, (shortest, longest))
    masking = Masking(p_mask, p_correct, p_random)
    architecture = Architecture(
        embedding=embedding.value,
        attention=attention.value,
        value=value.value,
        head=head.value,
        prediction_bias=prediction_bias.value,
        biases=biases,
        layers=layers,
        attend_masked=not hide_masked,
    )
    training = Training(
        loss=loss.value,
        optimizer=optimizer.value,
        learning_rates=tuple(learning_rate or [0.01]),
        seeds=tuple(seed or [0]),
        l2=l2,
        steps=steps,
        batch_size=batch_size,
        schedule=schedule.value,
        stage_steps=stage_steps,
        static_masks=static_masks,
        patience=patience,
    )
    initialization = Initialization(init_scale, embedding_scale, value_diagonal)
    if data is not None:
        read = Documents.read(data, model.vocabulary)
    else:
        read = model.sample(documents, data_seed)
        if save_data is not None:
            read.write(save_data)
    development = model.sample(500, data_seed + 1)
    _use_one_thread()
    progress = ConsoleProgress()
    with progress.stage(f"Training {len(training.runs)} runs", training.steps) as stage:
        result = train_runs(model, masking, architecture, training, read, development, initialization, device, stage.at)
    _show(result, model, masking)
    if out is not None:
        _save(result, out)


def _show(result: Result, model: TopicModel, masking: Masking) -> None:
    from rich.table import Table

    from probe.synthetic.measures import attention_by_class, value_scores
    from probe.synthetic.topic_model import mask_documents

    labels = model.topic_of_token
    read = mask_documents(model.sample(1000, 2), masking, 2)
    means = attention_by_class(result.architecture, result.parameters, read, labels).means
    value = result.value()
    scores = value_scores(value, labels) if value.shape[1] == len(labels) else None
    table = Table(
        "seed",
        "rate",
        "loss",
        "same word",
        "same topic",
        "different topic",
        "block",
        "diagonal",
        box=None,
        header_style="bold",
    )
    for run, (seed, rate) in enumerate(result.runs):
        table.add_row(
            str(seed),
            f"{rate:g}",
            f"{result.development_loss[run]:.4f}",
            *(f"{mean:.5f}" for mean in means[run]),
            *((f"{s[run]:.2f}" for s in (scores.block_score, scores.diagonal_score)) if scores else ("-", "-")),
        )
    from probe.show.terminal import plain_console

    plain_console().print(table)


def _save(result: Result, out: Path) -> None:
    import numpy as np

    from probe.storage.files import whole_set, write_csv

    runs = [
        {"seed": seed, "learning_rate": rate, "development_loss": loss, "steps": int(steps)}
        for (seed, rate), loss, steps in zip(
            result.runs, result.development_loss.tolist(), result.stopped_at.tolist(), strict=True
        )
    ]
    names = [name for name in result.history if name != "step"]
    history = [
        {"step": int(step), "seed": seed, "learning_rate": rate}
        | {name: float(result.history[name][entry, run]) for name in names}
        for entry, step in enumerate(result.history["step"])
        for run, (seed, rate) in enumerate(result.runs)
    ]
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in result.parameters.items()}
    with whole_set(out, last="runs.csv") as place:
        np.savez(place / "weights.npz", **weights)
        write_csv(place / "history.csv", history)
        write_csv(place / "runs.csv", runs)


@app.command()
def reproduce(
    target: Annotated[
        str,
        typer.Argument(help="figure1, figure2, figure4, figure7 to figure10, table3, table4, phases, stages or all."),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the CSV files and figures.")] = Path(
        "results/synthetic"
    ),
) -> None:
    """Make a synthetic table or figure of the paper: a CSV with the printed values beside ours, PNG and SVG.

    Example: [bold]probe synthetic reproduce table3 --out DIR[/bold]
    """
    from probe.show.progress import ConsoleProgress
    from probe.synthetic.reproduction.targets import reproduce as make

    _use_one_thread()
    make(target, out, ConsoleProgress())


def _use_one_thread() -> None:
    """Products this small lose more to threads than they gain, and one thread always adds in the same order."""
    import torch

    torch.set_num_threads(1)
