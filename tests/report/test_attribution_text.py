"""The wording of an attribution depends on its numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.report.attribution_text import attribution_paragraph, explain_log_weight
from deconfound.reward import Attribution
from tests.support.auto import SOME_VARIANCES

SHARES = np.array([[0.5, 0.15, 0.1, 0.05], [0.1, 0.1, 0.0, 0.0]])
SD = np.full((2, 4), 0.034)
BIAS = replace(SOME_VARIANCES, bias_model_by_context=0.0)


def test_the_paragraph_has_every_share_and_the_largest_standard_deviation() -> None:
    text = attribution_paragraph(Attribution(SHARES, SD, SOME_VARIANCES))
    assert (
        "log 80 % (through what the models wrote 65, through averages per model 10, through which model suits which "
        in text
    )
    assert "experiment 20 % (through what the models wrote 20, through averages per model 0, " in text
    assert "up to 3 points" in text
    assert "negative" not in text
    assert text.endswith(explain_log_weight(Attribution(SHARES, SD, SOME_VARIANCES)))


def test_negative_shares_are_explained_and_a_missing_bootstrap_is_left_out() -> None:
    shares = SHARES + np.array([[0.2, 0, 0, 0], [-0.2, 0, 0, 0]])
    text = attribution_paragraph(Attribution(shares, np.full((2, 4), np.nan), SOME_VARIANCES))
    assert "negative ones offset others" in text
    assert "resampled" not in text


@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        ({"bias_text": 1e-5, "bias_proxies": 0.0, "bias_model": 1e-5}, "so the log counts in full"),
        ({"bias_text": 0.01, "bias_proxies": 0.01, "bias_model": 0.05}, "differs mainly by model"),
        ({"bias_text": 0.03, "bias_proxies": 0.01, "bias_model": 0.02}, "depends on the outputs"),
    ],
)
def test_the_explanation_names_the_kind_of_bias(bias: dict[str, float], expected: str) -> None:
    assert expected in explain_log_weight(Attribution(SHARES, SD, replace(BIAS, **bias)))
