"""All checks of a study together, where users and propensities are uneven: how often a clean study shows a warning.

    python -m benchmarks.checks_uneven               # 200 clean studies
    python -m benchmarks.checks_uneven --clean 0.1

A few people have a large share of the rows, in the log and in the experiment. Propensities vary by person or by row.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from benchmarks.checks_family import measure_clean
from benchmarks.checks_family_kinds import CleanKind, generated
from benchmarks.checks_studies import Design


def clean_kinds() -> list[CleanKind]:
    uneven = Design(uneven_people=True)
    by_row, by_person = (replace(uneven, assignment=each) for each in ("continuous", "uneven by person"))
    return [
        CleanKind("uneven people, continuous propensities", generated(7, by_row), 100),
        CleanKind("uneven people, segments, assigned by person", generated(8, by_person), 100),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clean", type=float, default=1.0, help="share of the studies to run")
    return 0 if measure_clean(clean_kinds(), parser.parse_args().clean) else 1


if __name__ == "__main__":
    sys.exit(main())
