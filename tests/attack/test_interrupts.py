"""Ctrl-C or SIGTERM at any moment: one line, exit code 130 or 143, and nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import deconfound as dc
from deconfound import bundle, planning
from deconfound.cli import evaluate, interrupt, main
from tests.support.commands import evaluate_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

FAST = ("--family", "exp-only", "--refits", "2")
PLAN = ["plan", "--models", "3", "--outcome-sd", "0.3", "-q"]
MESSAGE = "deconfound: interrupted.\n"
TERMINATED = "deconfound: terminated.\n"
TOLERANT = """
import signal
try:
    signal.raise_signal(signal.SIGINT)
    for _ in range(1000):
        pass
except BaseException as error:  # as C extensions do
    raise ImportError("initialization failed")
"""
CONVERTING = """
try:
    raise KeyboardInterrupt
except BaseException:
    raise ImportError("initialization failed")
"""


@pytest.fixture(autouse=True)
def listening_to_interrupts():
    """A process that was started in the background ignores interrupts, and so would its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press(_: object = None) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes `plan` import a module with the given code first."""

    def make(code: str) -> None:
        (tmp_path / "lazy_part.py").write_text(code)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "lazy_part", raising=False)
        real = planning.plan

        def importing(*arguments: object, **options: object) -> object:
            __import__("lazy_part")
            return real(*arguments, **options)

        monkeypatch.setattr(planning, "plan", importing)

    return make


@pytest.mark.parametrize("code", [TOLERANT, CONVERTING], ids=["signal", "exception"])
def test_an_interrupt_inside_an_import_is_an_interrupt(module, capsys, code):
    module(code)
    assert main(PLAN) == 130
    assert capsys.readouterr() == ("", MESSAGE)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert main(PLAN[:-1]) == (0 if code is TOLERANT else 130)  # the next command starts anew
    capsys.readouterr()


@pytest.mark.parametrize("way", ["swallowed", "another error"])
def test_an_interrupt_that_got_lost_ends_the_command_before_it_saves(study_folder, tmp_path, monkeypatch, capsys, way):
    compute = evaluate._evaluate

    def lossy(*arguments: object) -> object:
        try:
            press()
        except KeyboardInterrupt:
            if way != "swallowed":
                raise ValueError("cancelled") from None
        return compute(*arguments)

    monkeypatch.setattr(evaluate, "_evaluate", lossy)
    assert main(evaluate_command(study_folder, *FAST, "-o", str(tmp_path / "S"))) == 130
    assert capsys.readouterr() == ("", MESSAGE)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_during_a_save_waits_for_its_end(study_folder, tmp_path, monkeypatch, capsys):
    real = bundle.write_files

    def write(contents: object) -> None:
        press()
        real(contents)

    monkeypatch.setattr(bundle, "write_files", write)
    assert main(evaluate_command(study_folder, *FAST, "-o", str(tmp_path))) == 130
    assert capsys.readouterr() == ("", MESSAGE)
    assert dc.Result.load(tmp_path).models
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_the_second_press_ends_at_once_and_a_repeated_signal_does_not(monkeypatch, seconds):
    clock = iter([10.0, 10.0 + seconds])
    monkeypatch.setattr(interrupt, "monotonic", lambda: next(clock))
    ended: list[bool] = []
    monkeypatch.setattr(interrupt, "end_at_once", lambda _: ended.append(True))

    def twice(_: object) -> None:
        try:
            press()
        finally:
            press()

    fake = ModuleType("deconfound.cli.command_line")
    monkeypatch.setattr(fake, "run", twice, raising=False)
    monkeypatch.setitem(sys.modules, "deconfound.cli.command_line", fake)
    assert main([]) == 130
    assert bool(ended) == (seconds > 0)


def test_an_ignored_signal_stays_ignored(monkeypatch, capsys):
    """As with nohup, or in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        monkeypatch.setattr(planning, "load_log_and_replay", press)
        assert main(PLAN) == 0
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("is_saving", [False, True], ids=["computing", "saving"])
def test_a_termination_is_one_line_and_code_143(study_folder, tmp_path, monkeypatch, capsys, is_saving):
    """A save that has begun is completed; anything else ends where it is."""
    where, name = (bundle, "write_files") if is_saving else (evaluate, "_evaluate")
    real = getattr(where, name)

    def terminated(*arguments: object) -> object:
        signal.raise_signal(signal.SIGTERM)
        return real(*arguments)

    monkeypatch.setattr(where, name, terminated)
    assert main(evaluate_command(study_folder, *FAST, "-o", str(tmp_path))) == 143
    assert capsys.readouterr() == ("", TERMINATED)
    assert len(list(tmp_path.iterdir())) == (3 if is_saving else 0)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


# --- real processes ---

PRESSING = """
import signal, sys

moment, sys.argv[:] = sys.argv[1], ["deconfound", "--version"]

class Pressing:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Pressing())
from {module} import {function}
sys.exit({function}())
"""


def entry_point() -> tuple[str, str]:
    """Module and function of the command."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["deconfound"].partition(":")
    return module, function


def run_script(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-S", "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("part", ["deconfound.cli", "deconfound.cli.interrupt", "typing"])
def test_an_interrupt_while_the_command_is_loaded_is_one_line(part):
    module, function = entry_point()
    done = run_script(PRESSING.format(module=module, function=function), part)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", MESSAGE)


def test_little_is_imported_before_interrupts_are_handled():
    """Ctrl-C during these imports is a traceback of Python, so they have to be few and fast."""
    script = f"import sys; before = set(sys.modules); import {entry_point()[0]}; print(*set(sys.modules) - before)"
    assert set(run_script(script).stdout.split()) <= {
        "__future__", "_imp", "_warnings", "deconfound", "deconfound.__main__", "importlib", "importlib._bootstrap",
        "importlib._bootstrap_external", "warnings",
    }  # fmt: skip


def interrupted(arguments: list[str], delay: float, number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Exit code, output and messages of a command that gets a signal some time after its own code has started."""
    script = "import deconfound.cli as c, sys; print(flush=True); sys.exit(c.main())"
    command = [sys.executable, "-S", "-c", script, *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def check_interrupted(folder: Path, place: Path, delay: float) -> int:
    """Interrupt `evaluate -o` and return its exit code: stopped with one line, or finished before."""
    code, out, err = interrupted(evaluate_command(folder, *FAST, "-o", str(place)), delay)
    if code in (0, 3, -signal.SIGINT):  # finished; the interpreter may have been about to end
        assert out
        assert "Traceback" not in err
    else:
        assert (code, out, err) == (130, "", MESSAGE), (delay, code, err)
    left = {path.name for path in place.iterdir()} if place.exists() else set()
    assert not {name for name in left if name.startswith(".")}
    if left:
        assert dc.Result.load(place).models
    return code


@pytest.mark.parametrize("delay", [0.05, 0.15, 0.3, 0.6])
def test_an_interrupt_at_the_start_is_one_line(study_folder, tmp_path, delay: float):
    assert check_interrupted(study_folder, tmp_path / "S", delay) == 130


def test_a_termination_at_the_start_is_one_line(study_folder):
    done = interrupted(evaluate_command(study_folder, *FAST), 0.3, signal.SIGTERM)
    assert done == (143, "", TERMINATED)


@pytest.mark.slow
def test_an_interrupt_at_any_moment_is_one_line(study_folder, tmp_path):
    moments, codes = np.random.default_rng(4), Counter[int]()
    for number in range(60):
        codes[check_interrupted(study_folder, tmp_path / str(number), moments.uniform(0.05, 3.0))] += 1
    sys.stdout.write(f"{codes}\n")
    assert codes[130] > 20
