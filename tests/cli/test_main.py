"""Start-up, exit codes and error messages that all commands share."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from deconfound.cli import main
from deconfound.cli.evaluate import REFITS
from deconfound.cli.options import FamilyChoices
from deconfound.cli.plan import MODEL_SD
from deconfound.crossfit import BOOTSTRAP_REFITS
from deconfound.errors import AssumptionError, DataError, DeconfoundError, EvidenceError, Problem, UsageError
from deconfound.planning.inputs import DEFAULT_BETWEEN_MODEL_SD
from deconfound.reward import EVERY
from tests.support.commands import evaluate_command

COMMANDS = ("demo", "evaluate", "check", "recommend", "route", "plan", "assign", "monitor", "bench")
HEAVY = {"numpy", "scipy", "pyarrow", "matplotlib", "pandas", "polars", "sklearn"}
PROBE = """
import json, sys
from deconfound.cli import main
try:
    main(["--help"])
except SystemExit as stop:
    sys.stderr.write(json.dumps({"code": stop.code, "modules": sorted(sys.modules)}))
"""


def test_exit_codes_are_the_documented_ones():
    kinds = (DataError, UsageError, AssumptionError, EvidenceError)
    assert [kind.exit_code for kind in kinds] == [1, 2, 3, 4]
    assert DeconfoundError.exit_code == 2


def test_the_help_lists_every_command_without_importing_heavy_libraries():
    probe = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    report = json.loads(probe.stderr)
    assert report["code"] == 0
    assert not {name.split(".")[0] for name in report["modules"]} & HEAVY
    assert all(f"\n    {command}" in probe.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS[:-1])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"usage: deconfound {command}" in capsys.readouterr().out


def test_family_choices_are_the_registered_families(capsys):
    assert list(FamilyChoices()) == [*(family.name for family in EVERY), "all"]
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert ", ".join(FamilyChoices()) in text


def test_defaults_in_help_texts_equal_the_librarys():
    assert REFITS == BOOTSTRAP_REFITS
    assert MODEL_SD == DEFAULT_BETWEEN_MODEL_SD


@pytest.mark.parametrize(
    "arguments",
    [[], ["evaluat"], ["evaluate"], ["demo", "--seed", "one"], ["demo", "--family", "cvcy"], ["plan", "-x"]],
)
def test_errors_in_the_command_line_end_with_code_2_and_one_message(arguments, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deconfound: ")
    assert err.count("\n") == 1
    assert "--help" in err


@pytest.mark.slow
def test_a_reader_that_closes_the_pipe_is_no_error(study_folder):
    """As with `| head -1`: the pipe closes while the command still writes."""
    command = [sys.executable, "-m", "deconfound", *evaluate_command(study_folder, "--json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait() == 0, err
        assert b"Traceback" not in err


def test_an_interrupt_ends_with_code_130(monkeypatch, capsys):
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deconfound.demo.make_demo", interrupt)
    assert main(["demo", "-q"]) == 130
    assert capsys.readouterr().err == "deconfound: interrupted.\n"


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (UsageError("first line\nsecond line"), "deconfound: first line\n    second line\n"),
        (DataError([Problem("a.csv", "it is empty", "Fill it.")]), "deconfound: a.csv: it is empty. Fill it.\n"),
        (
            DataError([Problem("a.csv", "two\nlines", "Join them."), Problem("b.csv", "it is empty", "Fill it.")]),
            "deconfound: 2 problems:\n  a.csv: two\\nlines. Join them.\n  b.csv: it is empty. Fill it.\n",
        ),
    ],
)
def test_problems_are_counted_and_not_their_lines(monkeypatch, capsys, error, printed):
    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr("deconfound.demo.make_demo", fail)
    assert main(["demo", "-q"]) == error.exit_code
    assert capsys.readouterr().err == printed


def test_errors_are_wrapped_on_a_terminal_alone(capsys, monkeypatch):
    command = ["evaluate", "--log", "l" * 60, "--experiment", "e" * 60, "--replay", "r" * 60]
    assert main(command) != 0
    plain = capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(command) != 0
    wrapped = capsys.readouterr().err
    assert max(map(len, plain.splitlines())) > 100
    assert max(map(len, wrapped.splitlines())) <= 100
    assert wrapped.split() == plain.split()
