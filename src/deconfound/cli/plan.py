"""The command that plans an experiment, and its curve."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.commands import load_study, mapping
from deconfound.cli.progress import Progress
from deconfound.data import Study
from deconfound.errors import UsageError
from deconfound.formatting import format_percent, quote
from deconfound.plan import AssumedInputs, LogAndReplay, Plan, PlanRow, RequiredRows, load_log_and_replay, plan
from deconfound.plan.evidence import GAP
from deconfound.report.document import to_text
from deconfound.report.plan_text import document, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = (".svg", ".png")
JSON = ".json"
NUMBERS = ("spread", "explained", "gap")
WIDE, HIGH = 9.0, 3.4  # inches
TICKS = 2  # every second number of rows is written, all would touch
COLOUR = "#1f5f8b"


def plan_experiment(arguments: argparse.Namespace) -> int:
    """What is known in, how many rows a wish takes out."""
    target = _target(arguments.output)
    source = _source(arguments)
    progress = Progress(arguments.quiet)
    within = arguments.regret if arguments.best is not None and arguments.regret is not None else 0.0
    try:
        made = plan(
            source,
            level=arguments.level,
            elsewhere=arguments.elsewhere,
            within=within,
            seed=arguments.seed,
            progress=progress,
        )
    finally:
        progress.clear()
    answers, lines = _answers(made, arguments), made.table(allocation=arguments.allocation)
    if arguments.json:
        sys.stdout.write(to_text(document(made, answers, lines)))
    else:
        sys.stdout.write(text(made, answers, lines, curve=target is None))
    if target is not None:
        _keep(target, made, answers, lines)
    return 0


def _answers(made: Plan, arguments: argparse.Namespace) -> list[RequiredRows]:
    allocation, found = arguments.allocation, []
    if arguments.width is not None:
        found.append(made.rows_for(width=arguments.width, allocation=allocation))
    if arguments.best is not None:
        found.append(made.rows_for(best=arguments.best, allocation=allocation))
    elif arguments.regret is not None:
        found.append(made.rows_for(regret=arguments.regret, allocation=allocation))
    return found


def _source(arguments: argparse.Namespace) -> Study | LogAndReplay | AssumedInputs:
    files = [name for name in ("log", "replay", "experiment") if getattr(arguments, name) is not None]
    numbers = [name for name in NUMBERS if getattr(arguments, name) is not None]
    if not files:
        return _numbers(arguments)
    if numbers:
        raise UsageError(f"--{numbers[0]} is for plans without data; leave it out, or the files.")
    missing = [name for name in ("log", "replay") if name not in files]
    if missing:
        raise UsageError(f"--{missing[0]} is missing: a plan from data takes --log and --replay.")
    if arguments.experiment is not None:
        return load_study(arguments)
    lo_hi = arguments.outcome_range
    return load_log_and_replay(
        log=arguments.log,
        replay=arguments.replay,
        columns=mapping(arguments.map),
        outcome_range=None if lo_hi is None else (lo_hi[0], lo_hi[1]),
        models=None if arguments.models is None else [n.strip() for n in arguments.models.split(",") if n.strip()],
        drop_missing=arguments.drop_missing,
    )


def _numbers(arguments: argparse.Namespace) -> AssumedInputs:
    if arguments.models is None or arguments.spread is None:
        raise UsageError("Give --log and --replay (and a pilot as --experiment), or --models N and --spread S.")
    if not arguments.models.strip().isdecimal():
        raise UsageError(f"Without files --models is how many there are, not {quote(arguments.models)}.")
    gap = GAP if arguments.gap is None else arguments.gap
    return AssumedInputs(int(arguments.models), arguments.spread, arguments.explained or 0.0, gap)


def _target(output: str | None) -> Path | None:
    """Where to, refused before the work rather than after it."""
    if output is None:
        return None
    path = Path(output)
    if path.suffix not in (*PICTURES, JSON):
        raise UsageError(f"-o takes an .svg, .png or .json file, not {quote(path.name)}.")
    if path.suffix in PICTURES:
        from deconfound.report.figures import require_matplotlib

        require_matplotlib()
    return path


def _keep(path: Path, made: Plan, answers: Sequence[RequiredRows], lines: Sequence[PlanRow]) -> None:
    if path.suffix == JSON:
        path.write_text(to_text(document(made, answers, lines)), encoding="utf-8")
    else:
        path.write_bytes(_picture(made, lines, path.suffix[1:]))


def _picture(made: Plan, lines: Sequence[PlanRow], kind: str) -> bytes:
    """Width, probability and regret by rows a model, with the range that the evidence leaves."""
    import io

    from deconfound.report.figures import Frame, new_figure, style_context, to_svg

    rows = [line.expected.total / len(line.expected.rows) for line in lines]
    width = f"width of {format_percent(made.level)} intervals"
    panels = ((width, "typical"), ("probability to choose the best", "best"), ("expected regret", "regret"))
    with style_context():
        footnote = "Shaded: variances at both ends of what the evidence leaves believable."
        figure = new_figure(Frame(WIDE, HIGH, "What so many randomized rows a model will give", footnote))
        for axes, (title, name) in zip(figure.subplots(1, len(panels)), panels, strict=True):
            _panel(axes, rows, lines, name)
            axes.set_title(title)
        if kind == "svg":
            return to_svg(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata={"Software": None})
        return buffer.getvalue()


def _panel(axes: Axes, rows: Sequence[float], lines: Sequence[PlanRow], name: str) -> None:
    expected, low, high = ([getattr(step, name) for step in steps] for steps in _by_reading(lines))
    axes.fill_between(rows, low, high, color=COLOUR, alpha=0.2, linewidth=0)
    axes.plot(rows, expected, color=COLOUR, marker="o", markersize=3)
    axes.set_xscale("log")
    axes.set_xticks(rows[::TICKS], [f"{n:,.0f}" for n in rows[::TICKS]])
    axes.set_xticks([], minor=True)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("rows a model")


def _by_reading(lines: Sequence[PlanRow]) -> tuple[list[object], list[object], list[object]]:
    return [n.expected for n in lines], [n.low for n in lines], [n.high for n in lines]
