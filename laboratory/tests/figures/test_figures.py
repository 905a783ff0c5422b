"""Figures of a benchmark: equal bytes for equal scores, and the contents they should show."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from deconfound_bench.figures import dr_figure, regret_figure, values_figure, winner_figure
from deconfound_bench.figures.style import STYLES, lighten, styles_for, text_colour
from deconfound_bench.results import Cell, Hyperparameters, Score
from deconfound_bench.score_tables import curve_panels, direct_vs_dr, dr_curve, winner_map
from deconfound_bench.views import write_figures, write_tables_and_figures

from deconfound.errors import UsageError
from deconfound.reward import FAMILIES, VARIANTS

ROOT = Path(__file__).parents[3]
NAMES = ("exp-only", "obs-only", "cvci")


def make_scores(
    confounding=(0.0, 0.9), n_log=(2000,), n_experiment=(20, 100), reward=("linear",), seeds=4
) -> list[Score]:
    rng = np.random.default_rng(0)
    scores = []
    for cell in itertools.starmap(Cell, itertools.product(confounding, n_log, n_experiment, reward)):
        for seed, family in itertools.product(range(seeds), NAMES):
            six = [float(v) for v in rng.uniform(0.1, 1, 6)]
            scores.append(Score("made-up", cell, seed, family, *six, seconds=1.0, hyperparameters=Hyperparameters()))
    return scores


def texts(figure: bytes) -> list[str]:
    """All text of a figure; fails if the SVG is not well-formed."""
    return ["".join(node.itertext()) for node in ET.fromstring(figure).iter() if node.tag.endswith("}text")]  # noqa: S314


def all_figures(scores: list[Score]) -> dict[str, bytes]:
    return {
        "winners": winner_figure(winner_map(scores)),
        "regret": regret_figure(curve_panels(scores, "n_experiment")),
        "values": values_figure(direct_vs_dr(scores)),
        "curve": dr_figure(dr_curve(scores)),
    }


@pytest.fixture(scope="module")
def figures() -> dict[str, bytes]:
    return all_figures(make_scores())


def test_equal_scores_give_equal_bytes_whatever_the_matplotlib_settings(figures):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 23, "svg.hashsalt": None, "axes.grid": False, "lines.linewidth": 9}):
        again = all_figures(make_scores())
        assert mpl.rcParams["font.size"] == 23
    assert again == figures
    assert all_figures([replace(s, regret=s.regret + 0.1 * (s.seed == 0)) for s in make_scores()]) != figures


def test_another_process_with_another_hash_seed_gives_equal_bytes_without_pyplot(figures):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from laboratory.tests.figures.test_figures import make_scores, regret_figure, curve_panels\n"
        "sys.stdout.buffer.write(regret_figure(curve_panels(make_scores(), 'n_experiment')))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    done = subprocess.run([sys.executable, "-c", code, str(ROOT)], capture_output=True, check=True, env=environment)
    assert done.stdout == figures["regret"]


def test_figures_have_no_date_and_their_text_is_text(figures):
    assert all(b"<dc:date>" not in data and b"<text" in data for data in figures.values())


def test_the_winner_map_shows_winner_gap_and_runner_up_of_every_cell(figures):
    shown = texts(figures["winners"])
    for win in winner_map(make_scores()).wins:
        assert win.winner in shown
        assert win.gap.format() in shown
        assert f"over {win.runner_up}" in shown
    assert "confounding (strength, 0 = none)" in shown


def test_a_win_within_two_standard_errors_is_light_and_hatched():
    """Four seeds of pure noise are never clear; without noise and with a real gap every win is."""
    noise = winner_figure(winner_map(make_scores()))
    level = {name: at / 10 for at, name in enumerate(NAMES, 1)}
    clear = winner_figure(winner_map([replace(s, regret=level[s.family]) for s in make_scores()]))
    assert STYLES["exp-only"].colour.lower().encode() in clear.lower()
    assert b"url(#h" not in clear
    unclear = [win for win in winner_map(make_scores()).wins if not win.gap.exceeds_two_se]
    assert unclear
    assert all(lighten(STYLES[win.winner].colour).encode() in noise.lower() for win in unclear)
    assert noise.count(b"url(#h") == len(unclear)


def test_many_cells_that_differ_only_in_the_reward_are_arranged_in_a_rectangle():
    rewards = [f"fix={a} weak={b}" for a in (0, 0.5, 1) for b in (0, 0.5, 1)]
    scores = make_scores(confounding=(0.5,), n_experiment=(100,), reward=rewards)
    figure = winner_figure(winner_map(scores))
    assert set(rewards) <= set(texts(figure))
    width, height = (float(x) for x in re.search(rb'width="([\d.]+)pt" height="([\d.]+)pt"', figure).groups())
    assert width > height
    assert set(rewards) <= set(texts(regret_figure(curve_panels(scores, "reward"))))


def test_curves_have_one_panel_per_budget_and_labelled_axes():
    scores = make_scores(n_log=(2000, 20000))
    shown = texts(regret_figure(curve_panels(scores, "confounding")))
    for at in itertools.product(("2,000", "20,000"), (20, 100)):
        assert "n_log {}, n_experiment {}".format(*at) in shown
    assert {"mean regret (outcome units)", *NAMES} <= set(shown)
    assert "averaged over the levels of confounding" in " ".join(texts(regret_figure(curve_panels(scores, "n_log"))))


def test_the_value_figures_show_differences_and_numbers_of_cells(figures):
    shown = " ".join(texts(figures["values"]))
    for row in direct_vs_dr(make_scores()).rows:
        assert f"{row.difference.format()}  ({row.dr_better})".replace("  ", " ") in shown.replace("  ", " ")
    assert {"direct", "DR", "n_experiment (rows)", "RMSE (outcome units)"} <= set(texts(figures["curve"]))


def test_omitted_seeds_are_named_below_the_figure():
    damaged = [replace(s, regret=float("nan")) if s.seed == 2 else s for s in make_scores()]
    for figure in (winner_figure(winner_map(damaged)), regret_figure(curve_panels(damaged, "n_experiment"))):
        assert "seed 2" in " ".join(texts(figure))


def test_special_characters_in_names_are_drawn_literally():
    odd = [replace(s, family="a<b>&$x_1$") if s.family == "cvci" else s for s in make_scores()]
    assert "a<b>&$x_1$" in texts(regret_figure(curve_panels(odd, "n_experiment")))


def test_one_seed_and_an_empty_log_can_be_drawn():
    scores = make_scores(n_log=(0, 2000), seeds=1)
    for axis in ("n_log", "confounding"):
        assert "One seed" in " ".join(texts(regret_figure(curve_panels(scores, axis))))
    assert "One seed" in " ".join(texts(values_figure(direct_vs_dr(scores))))


def test_every_family_has_its_own_fixed_style():
    names = [family.name for family in (*FAMILIES, *VARIANTS)]
    assert set(names) <= set(STYLES)
    for part in ("colour", "marker", "dash"):
        values = [getattr(STYLES[name], part) for name in names]
        assert len(set(values)) == len(values)
    assert styles_for(["cvci"])["cvci"] == styles_for([*names, "new one"])["cvci"]
    assert styles_for(["b", "a"]) == styles_for(["a", "b"])


def test_text_on_a_colour_has_enough_contrast():
    """At least 4.5 to 1, as the accessibility guidelines (WCAG) require, with their formula for luminance."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    for style in STYLES.values():
        for colour in (style.colour, lighten(style.colour)):
            high, low = sorted((luminance(colour), luminance(text_colour(colour))), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def test_tables_and_figures_are_written_to_one_folder(tmp_path):
    written = write_tables_and_figures(make_scores(), tmp_path / "out")
    assert {path.suffix for path in written} == {".txt", ".md", ".csv", ".svg"}
    assert sorted(written) == sorted((tmp_path / "out").iterdir())
    assert {path.stem for path in written if path.suffix == ".svg"} == {
        "winners",
        "regret-by-confounding",
        "regret-by-n_experiment",
        "values",
        "values-by-n_experiment",
    }


def test_missing_metrics_have_no_figure(tmp_path):
    bare = [replace(s, rmse_model_dr=float("nan")) for s in make_scores()]
    assert {path.stem for path in write_figures(bare, tmp_path)} == {
        "winners",
        "regret-by-confounding",
        "regret-by-n_experiment",
    }


def test_without_matplotlib_nothing_is_written_and_the_installation_is_explained(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r'pip install "deconfound\[\w+\]"'):
        write_tables_and_figures(make_scores(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
