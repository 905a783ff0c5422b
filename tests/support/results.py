"""A small demo study and its results, evaluated once per test run."""

from __future__ import annotations

from functools import cache

import pyarrow as pa

import deconfound as dc
from deconfound.demo import Demo, Sizes, make_demo

SIZES = Sizes(log_contexts=80, log_repeats=3, log_people=40, experiment_contexts=96, experiment_people=96, draws=1)


@cache
def small_demo() -> Demo:
    """A study whose log overrates one model."""
    return make_demo(5, sizes=SIZES)


def load_demo(demo: Demo, where: str = "", **tables: pa.Table) -> dc.Study:
    """The demo's study, with some of its tables replaced, and a condition on rows."""
    named = {"log": demo.log, "experiment": demo.experiment, "replay": demo.replay, **tables}
    return dc.load(**named, where=where or ())


@cache
def prepared_demo() -> dc.PreparedStudy:
    """The small demo with default options."""
    return dc.prepare(load_demo(small_demo()))


@cache
def demo_result(family: str = "auto") -> dc.Result:
    """The small demo evaluated with one family."""
    return prepared_demo().evaluate(family)
