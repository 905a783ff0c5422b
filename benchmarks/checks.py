"""False alarms and power of each check by itself, on p-values below 0.05.

    python -m benchmarks.checks                      # 1,000 clean studies per check, 300 violated ones
    python -m benchmarks.checks --clean 200 --only time

A clean study satisfies the assumption that the check tests. ``checks_family`` runs all checks of a study together. The
exit code is 1 if a check's p-value is below 0.05 in more than 6 % of the clean studies, or in fewer than 90 % of the
violated ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import process_time

import numpy as np

from deconfound.formatting import format_percent

MODULES = ("checks_randomization", "checks_outcomes", "checks_replay", "checks_contexts")
NOMINAL, MAX_FALSE_ALARMS, MIN_POWER = 0.05, 0.06, 0.90

Draw = Callable[[np.random.Generator], float]
"""Makes one study and returns the check's p-value on it."""


@dataclass(frozen=True, slots=True)
class Case:
    """A check, studies in which its assumption holds, and studies in which it is violated as ``planted`` says."""

    name: str
    clean: Draw
    violated: Draw
    planted: str


@dataclass(frozen=True, slots=True)
class Rates:
    """The measured rates of one check."""

    case: Case
    false_alarms: float
    power: float
    seconds: float  # of processor time per study

    @property
    def acceptable(self) -> bool:
        """Whether both rates are within their limits."""
        return self.false_alarms <= MAX_FALSE_ALARMS and self.power >= MIN_POWER


def all_cases() -> list[Case]:
    """The cases of every module."""
    return [case for name in MODULES for case in import_module(f"benchmarks.{name}").cases()]


def alarm_rate(draw: Draw, studies: int, seed: int) -> float:
    """Share of studies with p < 0.05; each study has its own seed, so that a longer run contains a shorter one."""
    rngs = (np.random.default_rng([seed, study]) for study in range(studies))
    return float(np.mean([draw(rng) < NOMINAL for rng in rngs]))


def measure(case: Case, clean: int, violated: int) -> Rates:
    start = process_time()
    false_alarms, power = alarm_rate(case.clean, clean, 1), alarm_rate(case.violated, violated, 2)
    return Rates(case, false_alarms, power, (process_time() - start) / (clean + violated))


HEADER = "| check | false alarms | planted violation | power | time per study |\n|---|---|---|---|---|"


def table_row(rates: Rates) -> str:
    false_alarms, power = format_percent(rates.false_alarms, 1), format_percent(rates.power, 1)
    cells = (rates.case.name, false_alarms, rates.case.planted, power, f"{1000 * rates.seconds:.0f} ms")
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clean", type=int, default=1000)
    parser.add_argument("--violated", type=int, default=300)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    print(HEADER, flush=True)
    acceptable = True
    for case in all_cases():
        if arguments.only in case.name:
            rates = measure(case, arguments.clean, arguments.violated)
            print(table_row(rates), flush=True)
            acceptable &= rates.acceptable
    return 0 if acceptable else 1


if __name__ == "__main__":
    sys.exit(main())
