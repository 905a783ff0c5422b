"""`deconfound demo`: text within 100 columns, JSON with the truth, tables on request."""

from __future__ import annotations

import json

import pytest

from deconfound.cli import main
from deconfound.demo import make_demo
from deconfound.formatting import TERMINAL_WIDTH
from tests.support.commands import SMALL


@pytest.fixture(autouse=True)
def small_demo(monkeypatch):
    """Make the demo small enough for a test."""
    monkeypatch.setattr("deconfound.demo.make_demo", lambda seed: make_demo(seed, sizes=SMALL))


def test_every_printed_line_fits_100_columns(capsys):
    assert main(["demo", "-q", "--verbose"]) == 0
    out, err = capsys.readouterr()
    assert max(map(len, out.splitlines())) <= TERMINAL_WIDTH == 100
    assert "cedar" in out
    assert err == ""


def test_json_contains_the_true_values_beside_the_results(capsys):
    assert main(["demo", "-q", "--json", "--seed", "3", "--family", "exp-only"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["truth"] == make_demo(3, sizes=SMALL).true_values
    assert len(document["results"]) == 1


def test_the_written_tables_can_be_evaluated_with_the_printed_command(tmp_path, capsys):
    assert main(["demo", "-q", "--family", "exp-only", "-o", str(tmp_path / "study")]) == 0
    command = capsys.readouterr().out.splitlines()[-1].split()
    assert command[:2] == ["deconfound", "evaluate"]
    assert main([*command[1:], "-q", "--family", "exp-only"]) in (0, 3)
