"""Whole evaluations after every batch, with `dc.monitor` itself: loading, checks, fits, state file and verdict.

    python -m benchmarks.monitor_evaluations --studies 40

The studies are those of the scenario "sequential" of ``benchmarks.stress``: three equal models, up to 300 rows and ten
looks. A look costs a whole evaluation, so there are few studies; ``benchmarks.monitor`` has a thousand without fits.
Ctrl-C ends the run, and the studies so far are reported.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import deconfound as dc
from benchmarks.simulation import covers
from benchmarks.stress_generators import SimulatedStudy
from benchmarks.stress_scenarios import LOOKS, all_scenarios
from deconfound.errors import EvidenceError

OPTIONS = dc.EvaluationOptions(refits=2)  # bootstrap refits change recommendations only


@dataclass(frozen=True, slots=True)
class Looks:
    """What the looks of one study got wrong, at any of them."""

    looks: int
    values: float  # share of the models whose own sequence missed
    difference: bool  # some pair of equal models was separated
    claim: bool  # a model was declared best
    fixed_difference: bool  # with intervals for one look
    width_ratio: float  # at the last look, of differences


def look_often(study: SimulatedStudy, state: Path) -> Looks:
    """Monitor one study, in which all models are equal."""
    rows = len(study.model)
    missed = np.zeros(len(study.models), dtype=np.bool_)
    difference = claim = fixed = False
    looks, ratio = 0, np.nan
    for number in range(1, LOOKS + 1):
        now = study.first_rows(rows * number // LOOKS)
        tables = dc.load(log=now.log, experiment=now.experiment, replay=now.replay)
        try:
            look = dc.monitor(tables, state, horizon=rows, options=OPTIONS)
        except EvidenceError:  # some model has too few rows
            continue
        looks += 1
        order = [look.models.index(name) for name in study.models]
        missed |= ~covers(look.sequences.interval[order], study.value)
        pairs = look.differences()
        difference |= any(float(row["low"]) > 0 or float(row["high"]) < 0 for row in pairs)
        claim |= look.verdict.reason == "best model"
        contrasts = look.result.contrasts()
        fixed |= any(one.significant for one in contrasts)
        widths = [float(row["high"]) - float(row["low"]) for row in pairs]
        ratio = float(np.mean(widths) / np.mean([one.high - one.low for one in contrasts]))
    return Looks(looks, float(missed.mean()), difference, claim, fixed, ratio)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line of shares."""
    parser = argparse.ArgumentParser(description="Whole evaluations after every batch of equal models.")
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    scenario, found = all_scenarios()["sequential"], []
    with suppress(KeyboardInterrupt):
        for number in range(given.studies):
            with tempfile.TemporaryDirectory() as folder:
                found.append(look_often(scenario.study(given.seed, number), Path(folder) / "state.json"))
            print(".", end="", flush=True)
    if not found:
        return 1
    print(f"\n{len(found)} studies of three equal models, {np.mean([one.looks for one in found]):.1f} looks each.")
    print("Percent of studies with an error at any look:")
    for name, label in (
        ("values", "value outside its interval (mean over models)"),
        ("difference", "difference between two models"),
        ("claim", "a model declared best"),
        ("fixed_difference", "difference, with intervals for one look"),
    ):
        print(f"  {label:48s} {100 * np.mean([getattr(one, name) for one in found]):5.1f}")
    print(f"Width of differences at the end / for one look: {np.median([one.width_ratio for one in found]):.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
