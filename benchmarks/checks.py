"""How often each check raises a false alarm, and how often it sees a planted violation.

    python -m benchmarks.checks                      # 1,000 clean studies each, 300 violated ones
    python -m benchmarks.checks --clean 200 --only time

A clean study is one in which the assumption holds; a warning at p < 0.05 is then a false alarm. The exit code is 1 if
some check warns in more than 6 % of the clean studies or in fewer than 90 % of the violated ones.
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

MODULES = ("checks_randomization", "checks_consistency", "checks_replay", "checks_alignment")
NOMINAL, MOST_FALSE_ALARMS, LEAST_POWER = 0.05, 0.06, 0.90

Draw = Callable[[np.random.Generator], float]
"""Makes one study and gives the p-value of the check on it."""


@dataclass(frozen=True, slots=True)
class Case:
    """A check, studies in which its assumption holds, and studies in which it is broken as ``planted`` says."""

    name: str
    clean: Draw
    violated: Draw
    planted: str


@dataclass(frozen=True, slots=True)
class Rates:
    """How a check did."""

    case: Case
    false_alarms: float
    power: float
    seconds: float  # of processor time a study

    @property
    def good(self) -> bool:
        """Whether both rates are what they should be."""
        return self.false_alarms <= MOST_FALSE_ALARMS and self.power >= LEAST_POWER


def all_cases() -> list[Case]:
    """The cases of every module that is there."""
    return [case for name in MODULES for case in import_module(f"benchmarks.{name}").cases()]


def alarms(draw: Draw, studies: int, seed: int) -> float:
    """Share of studies on which the check warns; each has its own seed, so that any number can be told apart."""
    rngs = (np.random.default_rng([seed, study]) for study in range(studies))
    return float(np.mean([draw(rng) < NOMINAL for rng in rngs]))


def measure(case: Case, clean: int, violated: int) -> Rates:
    start = process_time()
    false_alarms, power = alarms(case.clean, clean, 1), alarms(case.violated, violated, 2)
    return Rates(case, false_alarms, power, (process_time() - start) / (clean + violated))


HEAD = "| check | false alarms | planted violation | power | time a study |\n|---|---|---|---|---|"


def row(rates: Rates) -> str:
    alarms, power = format_percent(rates.false_alarms, 1), format_percent(rates.power, 1)
    shown = f"{alarms} | {rates.case.planted} | {power} | {1000 * rates.seconds:.0f} ms"
    return f"| {rates.case.name} | {shown} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clean", type=int, default=1000)
    parser.add_argument("--violated", type=int, default=300)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    print(HEAD, flush=True)
    good = True
    for case in all_cases():
        if arguments.only in case.name:
            rates = measure(case, arguments.clean, arguments.violated)
            print(row(rates), flush=True)
            good &= rates.good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
