"""Benchmark pictures: the same bytes every time, and the contents they claim to show."""

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
from deconfound_bench.pictures import (
    dr_picture,
    regret_picture,
    values_picture,
    winner_picture,
    write_all,
    write_pictures,
)
from deconfound_bench.pictures.style import KNOWN, ink, pale, styles
from deconfound_bench.results import Cell, Choice, Score
from deconfound_bench.tables import direct_against_dr, dr_curve, panels, winner_map

from deconfound.errors import UsageError
from deconfound.reward import FAMILIES, VARIANTS

NAMES = ("exp-only", "obs-only", "cvci")


def made(confounding=(0.0, 0.9), n_log=(2000,), n_experiment=(20, 100), reward=("linear",), seeds=4) -> list[Score]:
    rng = np.random.default_rng(0)
    scores = []
    for cell in itertools.starmap(Cell, itertools.product(confounding, n_log, n_experiment, reward)):
        for seed, family in itertools.product(range(seeds), NAMES):
            six = [float(v) for v in rng.uniform(0.1, 1, 6)]
            scores.append(Score("made-up", cell, seed, family, *six, seconds=1.0, choice=Choice()))
    return scores


def words(picture: bytes) -> list[str]:
    """All text of a picture; fails if it is not well-formed."""
    return ["".join(node.itertext()) for node in ET.fromstring(picture).iter() if node.tag.endswith("}text")]  # noqa: S314


def every(scores: list[Score]) -> dict[str, bytes]:
    return {
        "winners": winner_picture(winner_map(scores)),
        "regret": regret_picture(panels(scores, "n_experiment")),
        "values": values_picture(direct_against_dr(scores)),
        "curve": dr_picture(dr_curve(scores)),
    }


@pytest.fixture(scope="module")
def drawn() -> dict[str, bytes]:
    return every(made())


def test_the_same_scores_give_the_same_bytes_whatever_the_settings_around(drawn):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 23, "svg.hashsalt": None, "axes.grid": False, "lines.linewidth": 9}):
        again = every(made())
        assert mpl.rcParams["font.size"] == 23
    assert again == drawn
    assert every([replace(s, regret=s.regret + 0.1 * (s.seed == 0)) for s in made()]) != drawn


def test_another_process_with_another_hash_seed_gives_the_same_bytes_and_never_needs_pyplot(drawn):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from laboratory.tests.test_bench_pictures import made, regret_picture, panels\n"
        "sys.stdout.buffer.write(regret_picture(panels(made(), 'n_experiment')))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    here = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code, here], capture_output=True, check=True, env=environment)
    assert done.stdout == drawn["regret"]


def test_no_picture_carries_a_date_and_its_text_stays_text(drawn):
    assert all(b"<dc:date>" not in data and b"<text" in data for data in drawn.values())


def test_the_winner_map_names_winner_gap_and_runner_up_of_every_cell(drawn):
    shown = words(drawn["winners"])
    for win in winner_map(made()).wins:
        assert win.winner in shown
        assert win.gap.shown() in shown
        assert f"over {win.runner_up}" in shown
    assert "confounding (strength, 0 = none)" in shown


def test_a_win_that_is_not_clear_is_pale_and_hatched():
    """Four seeds of pure noise are never clear; without noise and with a real gap every win is."""
    noise = winner_picture(winner_map(made()))
    level = {name: at / 10 for at, name in enumerate(NAMES, 1)}
    clear = winner_picture(winner_map([replace(s, regret=level[s.family]) for s in made()]))
    assert KNOWN["exp-only"].colour.lower().encode() in clear.lower()
    assert b"url(#h" not in clear
    unclear = [win for win in winner_map(made()).wins if not win.gap.clear]
    assert unclear
    assert all(pale(KNOWN[win.winner].colour).encode() in noise.lower() for win in unclear)
    assert noise.count(b"url(#h") == len(unclear)


def test_many_cells_that_differ_only_in_the_reward_are_set_side_by_side():
    rewards = [f"fix={a} weak={b}" for a in (0, 0.5, 1) for b in (0, 0.5, 1)]
    scores = made(confounding=(0.5,), n_experiment=(100,), reward=rewards)
    picture = winner_picture(winner_map(scores))
    assert set(rewards) <= set(words(picture))
    width, height = (float(x) for x in re.search(rb'width="([\d.]+)pt" height="([\d.]+)pt"', picture).groups())
    assert width > height
    assert set(rewards) <= set(words(regret_picture(panels(scores, "reward"))))


def test_curves_have_one_panel_a_budget_and_name_axes_and_families():
    scores = made(n_log=(2000, 20000))
    shown = words(regret_picture(panels(scores, "confounding")))
    for at in itertools.product(("2,000", "20,000"), (20, 100)):
        assert "n_log {}, n_experiment {}".format(*at) in shown
    assert {"mean regret (outcome units)", *NAMES} <= set(shown)
    assert "averaged over the levels of confounding" in " ".join(words(regret_picture(panels(scores, "n_log"))))


def test_the_value_pictures_state_difference_and_cells(drawn):
    shown = " ".join(words(drawn["values"]))
    for row in direct_against_dr(made()).rows:
        assert f"{row.difference.shown()}  ({row.dr_better})".replace("  ", " ") in shown.replace("  ", " ")
    assert {"direct", "DR", "n_experiment (rows)", "RMSE (outcome units)"} <= set(words(drawn["curve"]))


def test_what_was_left_out_is_said_under_the_picture():
    spoilt = [replace(s, regret=float("nan")) if s.seed == 2 else s for s in made()]
    for picture in (winner_picture(winner_map(spoilt)), regret_picture(panels(spoilt, "n_experiment"))):
        assert "seed 2" in " ".join(words(picture))


def test_strange_names_are_drawn_as_they_are():
    odd = [replace(s, family="a<b>&$x_1$") if s.family == "cvci" else s for s in made()]
    assert "a<b>&$x_1$" in words(regret_picture(panels(odd, "n_experiment")))


def test_one_seed_and_an_empty_log_can_be_drawn():
    scores = made(n_log=(0, 2000), seeds=1)
    for axis in ("n_log", "confounding"):
        assert "One seed" in " ".join(words(regret_picture(panels(scores, axis))))
    assert "One seed" in " ".join(words(values_picture(direct_against_dr(scores))))


def test_every_family_has_a_look_of_its_own_that_never_changes():
    names = [family.name for family in (*FAMILIES, *VARIANTS)]
    assert set(names) <= set(KNOWN)
    for part in ("colour", "marker", "dash"):
        looks = [getattr(KNOWN[name], part) for name in names]
        assert len(set(looks)) == len(looks)
    assert styles(["cvci"])["cvci"] == styles([*names, "new one"])["cvci"]
    assert styles(["b", "a"]) == styles(["a", "b"])


def test_text_on_a_colour_can_be_read():
    """At least 4.5 to 1, as the accessibility guidelines ask, with their formula for luminance."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    for style in KNOWN.values():
        for colour in (style.colour, pale(style.colour)):
            high, low = sorted((luminance(colour), luminance(ink(colour))), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def test_everything_is_written_under_one_folder(tmp_path):
    written = write_all(made(), tmp_path / "out")
    assert {path.suffix for path in written} == {".txt", ".md", ".csv", ".svg"}
    assert sorted(written) == sorted((tmp_path / "out").iterdir())
    assert {path.stem for path in written if path.suffix == ".svg"} == {
        "winners",
        "regret-by-confounding",
        "regret-by-n_experiment",
        "values",
        "values-by-n_experiment",
    }


def test_metrics_that_a_benchmark_lacks_get_no_picture(tmp_path):
    bare = [replace(s, rmse_model_dr=float("nan")) for s in made()]
    assert {path.stem for path in write_pictures(bare, tmp_path)} == {
        "winners",
        "regret-by-confounding",
        "regret-by-n_experiment",
    }


def test_without_matplotlib_nothing_is_written_and_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r'pip install "deconfound\[plots\]"'):
        write_all(made(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
