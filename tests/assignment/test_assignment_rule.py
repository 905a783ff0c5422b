"""Drawing a model: reproducible, in any order of the models, and only from propensities that are some."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deconfound as dc
from deconfound.assignment import AssignmentRule
from deconfound.assignment.unit_hash import KeyedHash, unit_bytes
from deconfound.errors import UsageError

SHARES = {"cedar": 0.5, "oak": 0.3, "elm": 0.2}
IDS = [*range(500), *(f"user-{i}" for i in range(500)), "ünïcode 🐝", "x" * 10_000, " padded ", "7"]


def documented(unit, shares, experiment):
    """The model by the rule of docs/assign.md: names in the order of their code points, sums of propensities."""
    number = KeyedHash.of_experiment("model", experiment).uniform(unit_bytes(unit))
    total = 0.0
    for name in sorted(shares)[:-1]:
        total += shares[name]
        if number < total:
            return name
    return sorted(shares)[-1]


def test_the_function_the_rule_and_the_documentation_draw_the_same():
    rule = AssignmentRule.from_models("prices", SHARES)
    for unit in IDS:
        drawn = dc.assign(unit, models=SHARES, experiment="prices")
        assert drawn == rule.assign(unit) == rule.draw(unit)
        assert drawn.model == documented(unit, SHARES, "prices")
        assert drawn.propensity == SHARES[drawn.model]


def test_the_order_of_the_models_changes_nothing():
    forward = AssignmentRule.from_models("prices", SHARES)
    backward = AssignmentRule.from_models("prices", dict(reversed(SHARES.items())))
    assert forward == backward
    assert [forward.draw(unit) for unit in IDS] == [backward.draw(unit) for unit in IDS]


def test_models_without_propensities_are_equally_likely():
    assert dc.assign("u", models=("a", "b", "c", "d"), experiment="e").propensity == 0.25
    equal = AssignmentRule.from_models("e", dict.fromkeys("abcd", 0.25))
    assert AssignmentRule.from_models("e", iter("abcd")) == equal


def test_numbers_and_their_digits_are_one_unit():
    for number in range(200):
        assert dc.assign(number, models=SHARES, experiment="e") == dc.assign(str(number), models=SHARES, experiment="e")


def test_a_larger_share_adds_units_and_moves_none():
    small, large = (AssignmentRule.from_models("e", SHARES, share) for share in (0.1, 0.4))
    first = {unit: small.assign(unit) for unit in IDS}
    second = {unit: large.assign(unit) for unit in IDS}
    taking_part = [unit for unit in IDS if first[unit] is not None]
    assert 0 < len(taking_part) < sum(drawn is not None for drawn in second.values()) < len(IDS)
    assert all(first[unit] == second[unit] for unit in taking_part)
    assert dc.assign("u", models=SHARES, experiment="e", share=1.0) == dc.assign("u", models=SHARES, experiment="e")


@given(st.lists(st.integers(1, 1_000), min_size=2, max_size=12))
def test_any_weights_scaled_to_one_are_accepted_and_exact(weights):
    """The limits of the draw differ from the exact sums by rounding only."""
    total = sum(weights)
    shares = {f"m{at:02}": weight / total for at, weight in enumerate(weights)}
    rule = AssignmentRule.from_models("e", shares)
    exact = [Fraction(sum(weights[: at + 1]), total) for at in range(len(weights) - 1)]
    assert rule._limits == pytest.approx([float(limit) for limit in exact], abs=1e-12)
    assert rule.draw("u").propensity == shares[rule.draw("u").model]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({"a": 0.5, "b": 0.4}, "sum to 0.9"),
        ({"a": 0.33, "b": 0.33, "c": 0.33}, "sum to 0.99"),
        ({"a": 1.0, "b": 0.0}, "below 1"),
        ({"a": 1.2, "b": -0.2}, "at least"),
        ({"a": 1.0}, "below 1|2 to"),
        ({"a": float("nan"), "b": 0.5}, "at least"),
        ({"a": True, "b": 0.5}, "at least"),
        ({"a": "0.5", "b": 0.5}, "at least"),
        (["a"], "2 to 1,000 models, not 1"),
        ([], "not 0"),
        (["a", "b", "a"], "a is named twice"),
        (["a", " "], "no name"),
        (["a", "\ud800"], "surrogate"),
        ("a,b", "one text"),
        ([f"m{i}" for i in range(1_001)], "1,001"),
    ],
)
def test_propensities_that_are_none_are_refused(models, message):
    with pytest.raises(UsageError, match=message):
        dc.assign("u", models=models, experiment="e")


@pytest.mark.parametrize("name", ["", "  ", " e", "e\n", "e\u200b", "x" * 201, None])
def test_a_name_that_cannot_be_seen_is_refused(name):
    with pytest.raises(UsageError, match="name"):
        dc.assign("u", models=SHARES, experiment=name)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(UsageError, match="share"):
        dc.assign("u", models=SHARES, experiment="e", share=share)


PROBE = """
import sys
import deconfound as dc
assert dc.assign("u", models=["a", "b"], experiment="e").propensity == 0.5
manifest = dc.AssignmentManifest.load(sys.argv[1])
assert manifest.assign("u") is not None
print(sorted({name.partition(".")[0] for name in sys.modules} & {"numpy", "scipy", "pyarrow", "pandas"}))
"""


def test_a_service_needs_nothing_but_the_standard_library(tmp_path):
    path = tmp_path / "manifest.json"
    path.write_text(dc.AssignmentManifest(AssignmentRule.from_models("e", SHARES), "user").to_json())
    done = subprocess.run([sys.executable, "-c", PROBE, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
