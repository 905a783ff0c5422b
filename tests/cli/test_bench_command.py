"""`deconfound bench`: arguments are passed to the package that provides it, if there is one."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from deconfound.cli import main
from deconfound.cli.bench import ENTRY_POINT_GROUP, NAME


class Provider:
    """An entry point whose function stores its arguments."""

    def __init__(self) -> None:
        self.arguments: list[str] = []

    def load(self):
        def run(arguments):
            self.arguments += arguments
            return 7

        return run


def test_arguments_and_exit_code_pass_through_the_entry_point(monkeypatch):
    provider = Provider()
    monkeypatch.setattr("deconfound.cli.bench.entry_points", lambda **_: [provider])
    assert main(["bench", "synthetic", "--quick", "--json"]) == 7
    assert provider.arguments == ["synthetic", "--quick", "--json"]


def test_without_the_package_one_line_gives_the_install_command(monkeypatch, capsys):
    monkeypatch.setattr("deconfound.cli.bench.entry_points", lambda **_: [])
    assert main(["bench", "synthetic"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "pip install deconfound-bench" in err


@pytest.mark.skipif(not entry_points(group=ENTRY_POINT_GROUP, name=NAME), reason="deconfound-bench is not installed")
def test_the_installed_package_answers(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bench", "--help"])
    assert stop.value.code == 0
    assert "usage: deconfound bench" in capsys.readouterr().out
