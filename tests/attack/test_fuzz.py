"""Damaged bytes, strange types, random arguments and changed results: each input ends in an answer or in our own error.

The counts are small here and large in the slow run; every input has its own seed, named in a failure.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.bundle import load_bundle, save_bundle
from deconfound.cli import main
from deconfound.cli.command_line import TRACEBACK
from deconfound.report.persistence import FEATURIZER, REWARD, result_path
from tests.attack.damage import EXTREME_NUMBERS, FORMATS, HOSTILE_TEXT, damage_bytes, damage_table, write_table

TABLES = ("log", "experiment", "replay")
FEW, MANY = 25, 1_000  # inputs per kind and format
OPTIONS = {
    "evaluate": ("--level", "--seed", "--refits", "--surface-share", "--models", "--map", "--outcome-range", "--cost"),
    "check": ("--level", "--seed", "--models", "--map", "--outcome-range", "--target"),
    "plan": ("--models", "--outcome-sd", "--level", "--seed", "--regret", "--rows", "--width", "--extra-contexts"),
    "recommend": ("--level", "--map", "-o"),
}
FLAGS = ("--json", "-q", "--verbose", "--drop-missing", "--no-surface", "--extra-contexts", "--drop-incomplete")


def counts() -> list[object]:
    """A short run, and a long one that is marked as slow."""
    return [FEW, pytest.param(MANY, marks=pytest.mark.slow)]


def loads_or_is_refused(tables: dict[str, object], seed: object) -> bool:
    """Whether a study was read; an error other than ours fails the test and names the seed."""
    try:
        dc.load(**tables)  # type: ignore[arg-type]
    except dc.DeconfoundError:
        return False
    except Exception as error:
        raise AssertionError(f"seed {seed}: {type(error).__name__}") from error
    return True


@pytest.mark.parametrize("count", counts())
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_read_or_refused(kind, count, study_folder, tmp_path):
    whole = {name: str(study_folder / f"{name}.parquet") for name in TABLES}
    for number in range(count):
        rng = np.random.default_rng([1, FORMATS.index(kind), number])
        name = TABLES[number % 3]
        path = write_table(pq.read_table(whole[name]).slice(0, 200), tmp_path, kind)
        path.write_bytes(damage_bytes(path.read_bytes(), rng))
        loads_or_is_refused({**whole, name: str(path)}, (kind, number))


@pytest.mark.parametrize("count", [4 * FEW, pytest.param(5 * MANY, marks=pytest.mark.slow)])
def test_strange_tables_are_read_or_refused(count, study_folder):
    whole = {name: pq.read_table(study_folder / f"{name}.parquet") for name in TABLES}
    read = 0
    for number in range(count):
        rng = np.random.default_rng([2, number])
        name = TABLES[number % 3]
        read += loads_or_is_refused({**whole, name: damage_table(whole[name], rng)}, number)
    assert 0 < read < count  # the damage is neither always fatal nor always harmless


def random_arguments(command: str, folder: Path, rng: np.random.Generator) -> list[str]:
    """Options of the command, or of another one, with values that nobody expects."""
    values = (*HOSTILE_TEXT, *map(str, EXTREME_NUMBERS), "0.95", "3", "cedar=1", "outcome=outcome", "1", "-3", "all")
    arguments = [command]
    if command in ("evaluate", "check"):
        arguments += [f"--{name}={folder / name}.parquet" for name in TABLES if rng.random() < 0.8]
    for _ in range(int(rng.integers(1, 5))):
        if rng.random() < 0.2:
            arguments.append(str(rng.choice(FLAGS)))
            continue
        option = str(rng.choice(OPTIONS[command]))
        arguments += [option] + [str(rng.choice(values)).replace("\0", "0")] * (2 if option == "--outcome-range" else 1)
    return arguments


@pytest.mark.parametrize("count", [2 * FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", list(OPTIONS))
def test_random_arguments_end_with_an_exit_code(command, count, study_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(TRACEBACK, "1")
    monkeypatch.chdir(tmp_path)
    for number in range(count):
        arguments = random_arguments(command, study_folder, np.random.default_rng([3, len(command), number]))
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 2
        except dc.DeconfoundError as error:
            code = error.exit_code
        except OSError:
            code = 2
        assert code in range(5), arguments
        capsys.readouterr()


@pytest.mark.parametrize("count", [2 * FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_a_damaged_result_is_refused(count, saved_result, tmp_path):
    """Whatever bytes of whichever file were changed; a change that leaves the content as it was is no damage."""
    original = {path.name: path.read_bytes() for path in saved_result.iterdir() if path.is_file()}
    summary = dc.Result.load(saved_result).summary(verbose=True)
    for number in range(count):
        rng, folder, victim = np.random.default_rng([4, number]), tmp_path, sorted(original)[number % len(original)]
        for name, content in original.items():
            (folder / name).write_bytes(damage_bytes(content, rng) if name == victim else content)
        try:
            loaded = dc.Result.load(folder)
        except dc.DeconfoundError:
            continue
        assert loaded.summary(verbose=True) == summary, (number, victim)


@pytest.mark.parametrize("count", [4 * FEW, pytest.param(5 * MANY, marks=pytest.mark.slow)])
def test_a_changed_result_with_new_checksums_is_read_or_refused(count, saved_result, tmp_path):
    """Any number, text, list or object of the document may have been replaced by someone who knows the format."""
    original = load_bundle(result_path(saved_result), (REWARD, FEATURIZER))
    for number in range(count):
        document = json.loads(json.dumps(original.document))
        replace_somewhere(document, np.random.default_rng([5, number]))
        save_bundle(result_path(tmp_path), replace(original, document=document), overwrite=True)
        try:
            dc.Result.load(tmp_path).summary(verbose=True)
        except dc.DeconfoundError:
            continue
        except Exception as error:
            raise AssertionError(f"result {number}: {type(error).__name__}") from error


def replace_somewhere(document: object, rng: np.random.Generator) -> None:
    """Replace one entry, at a random depth, by something of another type or size."""
    at = document
    while isinstance(at, dict | list) and at:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = keys[int(rng.integers(len(keys)))]
        inner = at[key]  # type: ignore[index]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            at = inner
            continue
        at[key] = (None, -1, 1e308, "x", [], {}, [[1]], True)[int(rng.integers(8))]  # type: ignore[index]
        return
