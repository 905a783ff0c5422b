"""All checks of one study together: how often a clean study shows a warning, and what multiplicity costs in power.

    python -m benchmarks.checks_family                    # 1,300 clean studies, 100 violated ones per violation
    python -m benchmarks.checks_family --clean 0.1 --violated 20 --only A3

A clean study violates no assumption; its log is confounded. "Raw" counts p-values below 0.05, one test at a time.
"Holm" counts the warnings and failures that a user sees. Findings without a p-value count in both.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from time import process_time

import numpy as np
import pyarrow as pa

from benchmarks.checks_family_kinds import CLEAN_KINDS, VIOLATED_KINDS, CleanKind
from benchmarks.checks_studies import make_study
from deconfound.data import Study
from deconfound.diagnose import run_checks
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.formatting import format_percent

LEVEL = 0.95
STRICT_P = 0.004  # 0.05 over twelve tests: p-values must be valid out there, too


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
    for seed, kind in enumerate(VIOLATED_KINDS):
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
        good = measure_clean([kind for kind in CLEAN_KINDS if arguments.only in kind.name], arguments.clean)
    if arguments.violated:
        measure_violated(arguments.only, arguments.violated)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
