"""All checks of one study together: how often a clean study shows a warning, and what multiplicity costs in power.

    python -m benchmarks.checks_family                    # 1,200 clean studies, 100 violated ones per violation
    python -m benchmarks.checks_family --clean 0.1 --violated 20 --only A3

A clean study violates no assumption; its log is confounded. "Raw" counts p-values below 0.05, one test at a time.
"Holm" counts the warnings and failures that a user sees. Findings without a p-value count in both.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import process_time

import numpy as np
import pyarrow as pa

from benchmarks.checks_studies import Design, Violation, make_study
from deconfound.data import Study
from deconfound.demo.demo_study import Sizes, make_demo
from deconfound.diagnose import run_checks
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.formatting import format_percent
from deconfound.loading import load

LEVEL = 0.95
STRICT_P = 0.004  # 0.05 over twelve tests: p-values must be valid out there, too
SMALL = Design(experiment=60, log=120, extra=20, recurring=20, models=3)
TEXT = Design(experiment=120, log=240, extra=30, recurring=30, models=3, draws=2)
CONTEXTS = Design(experiment=100, log=150, extra=100, recurring=0, replayed=0.0, models=2, rows_per_person=1)

Draw = Callable[[int], tuple[Study, pa.Table | None]]
"""Makes the study with the given number, and a target if there is one."""


@dataclass(frozen=True, slots=True)
class CleanKind:
    """A kind of study in which every assumption holds."""

    name: str
    draw: Draw
    studies: int


@dataclass(frozen=True, slots=True)
class ViolatedKind:
    """A violation of the size in ``benchmarks/checks_*.py``, and the check that should detect it."""

    name: str
    check: str
    planted: str
    design: Design
    violation: Violation


@dataclass(slots=True)
class Tally:
    """Counts over the studies of one kind."""

    studies: int = 0
    tests: int = 0
    raw: int = 0
    warned: int = 0
    failed: int = 0
    without_p: int = 0
    p_values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, findings: tuple[Finding, ...]) -> None:
        """Count one study."""
        tested = [finding for finding in findings if finding.p_value is not None]
        alarms = [finding for finding in findings if finding.verdict in ("warn", "fail")]
        without_p = [finding for finding in alarms if finding.p_value is None]
        self.studies += 1
        self.tests += sum(finding.adjusted_p_value is not None for finding in findings)
        self.raw += bool(without_p) or any(
            finding.p_value < 1 - LEVEL for finding in tested if finding.p_value is not None
        )
        self.warned += bool(alarms)
        self.failed += any(finding.verdict == "fail" for finding in alarms)
        self.without_p += bool(without_p)
        for finding in tested:
            self.p_values[finding.check].append(finding.p_value or 0.0)


def generated(seed: int, design: Design) -> Draw:
    """Clean studies of one design, each with a target from the same population."""
    return lambda number: make_study(np.random.default_rng([31, seed, number]), design, Violation())


def demo(contexts: int) -> Draw:
    """The demo with so many experiment rows, and a log ten times as long."""
    sizes = Sizes(
        log_contexts=contexts * 10 // 3,
        log_people=max(contexts * 5 // 6, 20),
        experiment_contexts=contexts,
        experiment_people=contexts // 2,
    )

    def draw(number: int) -> tuple[Study, pa.Table | None]:
        tables = make_demo(10_000 * contexts + number, sizes=sizes)
        return load(log=tables.log, experiment=tables.experiment, replay=tables.replay), None

    return draw


def clean_kinds() -> list[CleanKind]:
    full = Design()
    return [
        CleanKind("all columns", generated(0, full), 300),
        CleanKind("all columns, propensity by row", generated(1, replace(full, assignment="by row")), 100),
        CleanKind("all columns, assigned by person", generated(2, replace(full, assignment="by person")), 100),
        CleanKind("all columns, generous log", generated(6, replace(full, log_generosity=1.0)), 100),
        CleanKind("all columns, yes or no", generated(3, replace(full, steps=2)), 100),
        CleanKind("all columns, 60 rows, 3 models", generated(4, SMALL), 300),
        CleanKind("feature columns instead of text", generated(5, replace(full, text=False)), 100),
        CleanKind("demo, 90 rows", demo(90), 100),
        CleanKind("demo, 180 rows", demo(180), 60),
        CleanKind("demo, 360 rows", demo(360), 40),
    ]


def violated_kinds() -> list[ViolatedKind]:
    full = Design()
    by_row, by_person = replace(full, assignment="by row"), replace(full, assignment="by person", rows_per_person=1)
    long = replace(full, log=2_000)
    stars, sessions = replace(long, steps=5), replace(full, rows_per_person=3)
    few_sessions = replace(full, experiment=120, rows_per_person=4)
    ratio, over_time, by_context = "sample ratio", "assignment over time", "assignment by context"
    half_lost, moved = "one model loses 50 % of its rows", "three of four contexts moved to one topic of four"
    drift = "outcome over time (experiment)"
    return [
        ViolatedKind("A1 sample ratio", ratio, half_lost, full, Violation(lost=0.5)),
        ViolatedKind("A1 sample ratio, propensity by row", ratio, half_lost, by_row, Violation(lost=0.5)),
        ViolatedKind("A1 sample ratio, assigned by person", ratio, half_lost, by_person, Violation(lost=0.5)),
        ViolatedKind("A1 over time", over_time, "35 % of the last third to one model", full, Violation(late=0.35)),
        ViolatedKind(
            "A1 over time, propensity by row",
            over_time,
            "50 % of the last third to one model",
            by_row,
            Violation(late=0.5),
        ),
        ViolatedKind(
            "A1 by context, length",
            by_context,
            "40 % of the longest third to one model",
            full,
            Violation(by_length=0.4),
        ),
        ViolatedKind(
            "A1 by context, words",
            by_context,
            "75 % of contexts with one word to one model",
            full,
            Violation(by_word=0.75),
        ),
        ViolatedKind(
            "A2 replay fidelity",
            "replay fidelity",
            "a fifth of one model's words replaced",
            TEXT,
            Violation(replaced=0.2),
        ),
        ViolatedKind(
            "A2 replay support",
            "replay support",
            "a quarter of one model's outputs garbage",
            TEXT,
            Violation(garbled=0.25),
        ),
        ViolatedKind(
            "A3 values, discrete",
            "outcome values",
            "log in five steps, experiment yes or no",
            stars,
            Violation(steps=2),
        ),
        ViolatedKind("A3 values, range", "outcome values", "experiment ends at 0.8", long, Violation(scale=0.8)),
        ViolatedKind("A3 direction", "outcome direction", "log inverted", long, Violation(inverted=True)),
        ViolatedKind(
            "A3 matching outputs, 60 pairs", "matching outputs", "log inverted", full, Violation(inverted=True)
        ),
        ViolatedKind(
            "A3 over time", drift, "outcomes rise by 0.2", replace(full, rows_per_person=1), Violation(drift=0.2)
        ),
        ViolatedKind("A3 over time, 120 sessions", drift, "outcomes rise by 0.3", sessions, Violation(drift=0.3)),
        ViolatedKind("A3 over time, 30 sessions", drift, "outcomes rise by 0.6", few_sessions, Violation(drift=0.6)),
        ViolatedKind(
            "A4 output mechanism",
            "output mechanism",
            "half of the log's outputs name their user",
            replace(TEXT, log=150, replayed=1.0),
            Violation(personal=0.5),
        ),
        ViolatedKind("A5 contexts of the log", "contexts of the log", moved, CONTEXTS, Violation(log_moved=0.75)),
        ViolatedKind(
            "A5 contexts of the replay", "contexts of the replay", moved, CONTEXTS, Violation(extra_moved=0.75)
        ),
        ViolatedKind(
            "A5 contexts of the target", "contexts of the target", moved, CONTEXTS, Violation(target_moved=0.75)
        ),
    ]


def check_all(study: Study, target: pa.Table | None, seed: int) -> tuple[Finding, ...]:
    arrays = StudyArrays.from_study(study, FeatureSpec())
    return run_checks(study, arrays, seed=seed, level=LEVEL, target=target).findings


def with_error(count: int, total: int) -> str:
    """A share with its binomial standard error; of a share of zero, the upper 95 % limit."""
    share = count / total
    if not count:
        return f"0.0 % (at most {format_percent(3 / total, 1)})"
    return f"{format_percent(share, 1)} ± {100 * np.sqrt(share * (1 - share) / total):.1f}"


def measure_clean(kinds: list[CleanKind], scale: float) -> bool:
    head = "| clean studies | studies | tests | any warning, raw | any warning, Holm | any failure | without p-value |"
    print(f"{head}\n|---|---|---|---|---|---|---|", flush=True)
    total, by_check = Tally(), defaultdict[str, list[float]](list)
    for kind in kinds:
        tally = Tally()
        for number in range(max(2, round(scale * kind.studies))):
            tally.add(check_all(*kind.draw(number), number))
        print_clean(kind.name, tally)
        for name in ("studies", "tests", "raw", "warned", "failed", "without_p"):
            setattr(total, name, getattr(total, name) + getattr(tally, name))
        for check, p_values in tally.p_values.items():
            by_check[check] += p_values
    print_clean("all", total)
    print(f"\n| check | clean studies | p < 0.05 | p < {STRICT_P:g} |\n|---|---|---|---|")
    for check, p_values in sorted(by_check.items()):
        below = [int(np.sum(np.array(p_values) < limit)) for limit in (1 - LEVEL, STRICT_P)]
        shares = " | ".join(with_error(count, len(p_values)) for count in below)
        print(f"| {check} | {len(p_values)} | {shares} |", flush=True)
    error = np.sqrt(0.05 * 0.95 / total.studies)
    return bool(total.warned / total.studies <= 0.05 + 2 * error)


def print_clean(name: str, tally: Tally) -> None:
    counts = (tally.raw, tally.warned, tally.failed, tally.without_p)
    shares = " | ".join(with_error(count, tally.studies) for count in counts)
    print(f"| {name} | {tally.studies} | {tally.tests / tally.studies:.1f} | {shares} |", flush=True)


def measure_violated(only: str, studies: int) -> None:
    head = "| check | planted violation | tests | power, raw | power, Holm | of these fail | other checks warn | time |"
    print(f"\n{head}\n|---|---|---|---|---|---|---|---|", flush=True)
    for seed, kind in enumerate(violated_kinds()):
        if only not in kind.name:
            continue
        start, raw, warned, failed, others, tests = process_time(), 0, 0, 0, 0, 0
        for number in range(studies):
            study, target = make_study(np.random.default_rng([32, seed, number]), kind.design, kind.violation)
            findings = check_all(study, target, number)
            own = next((finding for finding in findings if finding.check == kind.check), None)
            tests += sum(finding.adjusted_p_value is not None for finding in findings)
            raw += own is not None and own.p_value is not None and own.p_value < 1 - LEVEL
            warned += own is not None and own.verdict in ("warn", "fail")
            failed += own is not None and own.verdict == "fail"
            others += any(each.verdict in ("warn", "fail") for each in findings if each is not own)
        shares = " | ".join(format_percent(count / studies, 1) for count in (raw, warned, failed, others))
        seconds = (process_time() - start) / studies
        print(f"| {kind.name} | {kind.planted} | {tests / studies:.1f} | {shares} | {seconds:.1f} s |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clean", type=float, default=1.0, help="share of the clean studies to run; 0 for none")
    parser.add_argument("--violated", type=int, default=100, help="studies per violation; 0 for none")
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    arguments = parser.parse_args()
    good = True
    if arguments.clean:
        good = measure_clean([kind for kind in clean_kinds() if arguments.only in kind.name], arguments.clean)
    if arguments.violated:
        measure_violated(arguments.only, arguments.violated)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
