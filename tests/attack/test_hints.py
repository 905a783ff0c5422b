"""Mistakes that no file shows by itself: exchanged tables, one file under two names, propensities that cannot be."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.loading import load
from tests.support.results import small_demo
from tests.support.studies import Good, refused, write_study


def demo_tables() -> dict[str, pa.Table]:
    demo = small_demo()
    return {"log": demo.log, "experiment": demo.experiment, "replay": demo.replay}


def test_an_experiment_much_larger_than_the_log_is_questioned():
    parts = demo_tables()
    few = {**parts, "log": parts["log"].slice(0, len(parts["experiment"]) // 2)}
    (finding,) = [each for each in load(**few).findings if each.check == "table sizes"]
    assert finding.verdict == "warn"
    assert "Is the larger table really the randomized one?" in finding.message
    assert not [each for each in load(**parts).findings if each.check == "table sizes"]


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_log_that_is_a_link_to_the_experiment_is_the_same_file(tmp_path, link):
    paths = write_study(tmp_path, Good(), "csv")
    copy = tmp_path / "other.csv"
    link(paths["experiment"], copy)
    assert "the log and the experiment are the same table" in refused(**{**paths, "log": copy})


def with_propensity(values: np.ndarray | float) -> dc.Study:
    parts = demo_tables()
    experiment = parts["experiment"]
    column = pa.array(np.broadcast_to(np.asarray(values, float), len(experiment)).copy())
    names = [name for name in experiment.column_names if not name.startswith("propensity")]
    return load(**{**parts, "experiment": experiment.select(names).append_column("propensity", column)})


def test_constant_propensities_that_sum_to_more_than_one_are_named():
    study = with_propensity(0.9)
    ratio, time, _context = [each for each in dc.check(study) if each.assumption == "A1"][:3]
    assert ratio.verdict == "warn"
    assert f"sum to {0.9 * len(study.models):.3g}" in ratio.message
    assert "vary" not in ratio.message
    assert time.verdict == "cannot tell"


def test_propensities_that_vary_are_still_said_to():
    parts = demo_tables()
    study = with_propensity(np.tile([0.2, 0.5], len(parts["experiment"]))[: len(parts["experiment"])])
    assert "propensities vary between rows" in next(each.message for each in dc.check(study) if each.assumption == "A1")
