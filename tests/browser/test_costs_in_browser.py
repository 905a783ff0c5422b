"""Costs in the explorer: the margin is the difference of the numbers beside it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.support.browser import open_page
from tests.support.results import demo_result

NUMBER = re.compile(r"[+-]?\d+\.\d+")


def test_margins_are_differences_of_the_values_shown(browser, tmp_path):
    result = demo_result()
    cost = np.linspace(0.0, 0.2, len(result.models))
    net = replace(result, values=result.values.net_of(cost))
    net.to_html(tmp_path / "net.html")
    with open_page(browser, tmp_path / "net.html") as opened:
        page = opened.page
        page.select_option(".side:nth-child(1) select", label=result.models[0])
        page.select_option(".side:nth-child(2) select", label=result.models[-1])
        amounts = page.locator(".side .amount").all_inner_texts()
        assert all(text.startswith("net value ") for text in amounts)
        first, second = (float(NUMBER.findall(text)[0]) for text in amounts)
        text = page.inner_text(".margin")
        margin = float(NUMBER.findall(text)[0]) * (-1 if " is behind " in text else 1)
        assert margin == pytest.approx(first - second, abs=1.1e-3)
        listed = [float(text) for text in page.locator(".model-values li > :last-child").all_inner_texts()]
        assert listed == sorted(listed, reverse=True)
