"""Numbers at the ends of what a computer can store: a clear limit, no warning of NumPy, no defect."""

from __future__ import annotations

import warnings

import pytest

from deconfound.cli import main
from deconfound.loading import load
from tests.support.commands import evaluate_command
from tests.support.studies import ROLES, good_with, refused, tables

PLAN = ("plan", "--outcome-sd", "0.4", "--models")


def run(capsys, *words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code = main(list(words))
    message = capsys.readouterr().err
    assert "defect" not in message
    assert len(message) < 1_000
    return code, message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--level", "1e-300"], "level (--level) must lie between 0.5 and 0.9999"),
        (["--level", "0.9999999999999999"], "level (--level) must lie between 0.5 and 0.9999"),
        (["--level", "0.49"], "not 0.49"),
        (["--outcome-range", "0", "5e-324"], "at least 1e-09 apart"),
        (["--outcome-range", "0", "1e308"], "between -1e+12 and 1e+12"),
        (["--outcome-range", "-1e16", "1e16"], "--outcome-range -1e+16 1e+16: the ends"),
        (["--outcome-range", "-1e308", "1e308"], "--outcome-range -1e+308 1e+308: the ends"),
        (["--refits", "1"], "refits (--refits)"),
        (["--surface-share", "2"], "surface_share (--surface-share)"),
        (["--models", "cedar,cedar"], "cedar is named twice"),
        (["--models", ","], "--models names no model"),
        (["--seed", "9" * 5_000], "invalid int value"),
    ],
)
def test_an_extreme_option_is_refused_by_its_name(study, capsys, options, message):
    code, printed = run(capsys, *evaluate_command(study, *options))
    assert code == 2
    assert message in printed


@pytest.mark.parametrize("amount", ["1e308", "-1e308", "1000001", "nan", "inf"])
def test_an_extreme_cost_is_refused(study, capsys, amount):
    names = load(**{role: study / f"{role}.parquet" for role in ROLES}).models
    costs = [word for name in names for word in ("--cost", f"{name}={amount if name == names[0] else 0}")]
    code, message = run(capsys, *evaluate_command(study, *costs))
    assert code == 2
    assert f"cost (--cost) of {names[0]}: a cost is a finite number from -1,000,000 to 1,000,000" in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["2", "--extra-contexts", "1" + "0" * 400], "--extra-contexts must be from 0 to 1,000,000,000"),
        (["2", "--extra-contexts", "-1"], "not -1"),
        (["9" * 5_000], "--models must be at most 1,000"),
        (["2", "--level", "0.9999999999999999"], "between 0.5 and 0.9999"),
    ],
)
def test_an_extreme_plan_is_refused(capsys, words, message):
    code, printed = run(capsys, *PLAN, *words)
    assert code == 2
    assert message in printed


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 1.1e100])
def test_features_and_labels_whose_squares_are_infinite_are_refused(value):
    good = good_with(**dict.fromkeys(ROLES, lambda row: row.update(feature_x=value)))
    message = refused(**tables(good))
    assert "feature_x" in message
    assert "is too large" in message
    assert "is too large" in refused(**tables(good_with(log=lambda row: row.update(label_x=value))))


def test_a_range_with_a_negative_exponent_is_two_numbers(study, capsys):
    code, message = run(capsys, *evaluate_command(study, "--outcome-range", "-1e-3", "1e0", "--family", "none"))
    assert code == 2
    assert "invalid choice" in message
