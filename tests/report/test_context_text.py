"""The sentences about context shift."""

from __future__ import annotations

import pytest

from deconfound.diagnose.context_shift import OVERLAP, TargetOverlap
from deconfound.findings import Finding


@pytest.mark.parametrize(
    ("details", "criteria"),
    [
        (TargetOverlap(360, 203.0, 1.0, 0.9, 0.0), ["100 % of the target's contexts", "less than 50 %"]),
        (TargetOverlap(60, 9.4, 0.1, 0.9, 0.0), ["60 experiment rows count as 9.4 (at least 10"]),
        (TargetOverlap(360, 20.0, 0.1, 0.9, 0.0), ["6 % of the experiment's rows", "at least 10 %"]),
        (TargetOverlap(360, 203.0, 0.1, 0.12, 0.0), ["0.12 times as frequent", "at least 0.25"]),
        (TargetOverlap(360, 203.0, 0.1, 0.9, 0.71), ["still differ", "0.71 standard deviations", "less than 0.5"]),
    ],
)
def test_a_refusal_names_the_failed_criterion_its_value_and_its_threshold(details, criteria):
    """Only the criterion that failed appears: each has one threshold in brackets."""
    message = Finding(OVERLAP, "fail", details, "A5").message
    assert all(part in message for part in criteria)
    assert message.count("required)") == 1


def test_weights_are_not_said_to_correct_what_they_leave_different():
    details = TargetOverlap(360, 358.0, 0.01, 0.9, 0.31)
    message = Finding(OVERLAP, "warn", details, "A5").message
    assert "still differ from the target's by up to 0.31 standard deviations" in message
    assert "bias" in message
