"""`deconfound convert` never destroys what it reads, and the tables in its folder are always of one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from tests.support.trace_runs import make_runs, write_csv, write_lines

ROOT = Path(__file__).parents[2]
MARKED = ("--experiment-where", "metadata.exp=yes")


def write_parquet(path: Path) -> bytes:
    """Runs as a table that is called like one of ours."""
    rows = [{key: json.dumps(v) if isinstance(v, dict) else v for key, v in run.items()} for run in make_runs()]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path.read_bytes()


@pytest.mark.parametrize("given", ["{}", "{}/*.parquet", "{}/log.parquet", "{}/../traces"])
def test_an_input_is_never_replaced_however_it_is_named(tmp_path, capsys, given):
    folder = tmp_path / "traces"
    before = write_parquet(folder / "log.parquet")
    assert main(["convert", given.format(folder), "-o", str(folder), "--overwrite"]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert (folder / "log.parquet").read_bytes() == before


def test_an_input_is_never_replaced_through_a_link(tmp_path, capsys):
    before = write_parquet(tmp_path / "traces" / "a.parquet")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "log.parquet").symlink_to(tmp_path / "traces" / "a.parquet")
    assert main(["convert", str(tmp_path / "traces"), "-o", str(tmp_path / "out"), "--overwrite"]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert (tmp_path / "traces" / "a.parquet").read_bytes() == before


@pytest.mark.parametrize("given", ["{}/replay.parquet", "{}", "{}/*.parquet"])
@pytest.mark.parametrize("option", ["--outcomes", "--exposures"])
def test_a_table_that_is_read_is_never_replaced(tmp_path, capsys, option, given):
    traces = write_lines(tmp_path / "runs.jsonl", make_runs())
    table = tmp_path / "out" / "replay.parquet"
    table.parent.mkdir()
    ids = [f"run-{n}" for n in range(8)]
    pq.write_table(pa.table({"call_id": ids, "score": [1] * 8, "user_id": ids, "variant": ["aspen"] * 8}), table)
    before = table.read_bytes()
    options = [option, given.format(table.parent), "-o", str(table.parent), "--overwrite"]
    assert main(["convert", str(traces), *options]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert table.read_bytes() == before


def test_an_input_that_appears_during_the_run_is_not_replaced(tmp_path, capsys, monkeypatch):
    """The files are looked for again when they are read."""
    from deconfound.cli import convert_traces

    folder = tmp_path / "traces"
    write_lines(folder / "runs.jsonl", make_runs())
    real = convert_traces.trace_inputs

    def then_write(paths):
        found = real(paths)
        write_parquet(folder / "log.parquet")
        return found

    monkeypatch.setattr(convert_traces, "trace_inputs", then_write)
    assert main(["convert", str(folder), "-o", str(folder), "--overwrite"]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert "run_type" in pq.read_schema(folder / "log.parquet").names


def test_tables_of_an_earlier_run_do_not_stay_beside_those_of_a_new_one(tmp_path, capsys):
    traces, out = write_lines(tmp_path / "runs.jsonl", make_runs()), tmp_path / "out"
    assert main(["convert", str(traces), "-o", str(out), *MARKED]) == 0
    assert (out / "experiment.parquet").exists()
    capsys.readouterr()
    assert main(["convert", str(traces), "-o", str(out), "--overwrite"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["log.parquet"]
    assert "Removed experiment.parquet" in capsys.readouterr().err


def test_a_table_of_the_user_stays_if_the_run_does_not_write_it(tmp_path, capsys):
    traces, out = write_lines(tmp_path / "runs.jsonl", make_runs()), tmp_path / "out"
    out.mkdir()
    pq.write_table(pa.table({"mine": [1]}), out / "replay.parquet")
    (out / "experiment.parquet").write_text("mine")
    assert main(["convert", str(traces), "-o", str(out), "--overwrite"]) == 0
    assert pq.read_schema(out / "replay.parquet").names == ["mine"]
    assert (out / "experiment.parquet").read_text() == "mine"
    assert "Removed" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_run_never_leaves_tables_of_two_runs(tmp_path):
    """The process ends at each step of the write in turn, as if it were killed there."""
    old, new = (write_lines(tmp_path / f"{note}.jsonl", make_runs(note=note)) for note in ("OLD", "NEW"))
    out, seen = tmp_path / "out", set()
    for step in range(12):
        assert main(["convert", str(old), "-o", str(out), "--overwrite", *MARKED]) == 0
        command = [sys.executable, "-c", KILLED_AT, str(step), str(new), str(out), *MARKED]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
        tags = {name: tag(out / f"{name}.parquet") for name in ("log", "experiment")}
        present = set(tags.values()) - {""}
        assert len(present) <= 1, (step, tags)
        seen.add(tuple(tags.values()))
        if done.returncode == 0:
            break
    assert {("OLD", "OLD"), ("NEW", "NEW")} <= seen
    assert len(seen) > 2  # kills that hit no incomplete set test nothing
    assert not [path for path in out.iterdir() if path.suffix != ".parquet"]


KILLED_AT = """
import os, sys
from pathlib import Path
steps = [int(sys.argv[1])]
def ending(method):
    def change(self, *arguments, **options):
        if "out" in Path(self).parts and "probe" not in Path(self).name:
            if steps[0] == 0:
                os._exit(9)
            steps[0] -= 1
        return method(self, *arguments, **options)
    return change
Path.unlink, Path.replace = ending(Path.unlink), ending(Path.replace)
from deconfound.cli import main
sys.exit(main(["convert", sys.argv[2], "-o", sys.argv[3], "--overwrite", *sys.argv[4:]]))
"""


def tag(path: Path) -> str:
    """Of which run a table is; empty if it is not there."""
    if not path.exists():
        return ""
    return "NEW" if "NEW" in pq.read_table(path)["context"][0].as_py() else "OLD"


def test_a_full_disk_leaves_the_earlier_tables(tmp_path, capsys, monkeypatch):
    traces, out = write_lines(tmp_path / "runs.jsonl", make_runs()), tmp_path / "out"
    assert main(["convert", str(traces), "-o", str(out), *MARKED]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def fails(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deconfound.atomic.os.fsync", fails)
    assert main(["convert", str(traces), "-o", str(out), "--overwrite"]) == 2
    assert "earlier content is unchanged" in " ".join(capsys.readouterr().err.split())
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize("step", range(8))
def test_a_rename_that_fails_leaves_the_earlier_tables(tmp_path, capsys, monkeypatch, step):
    old, new = (write_lines(tmp_path / f"{note}.jsonl", make_runs(note=note)) for note in ("OLD", "NEW"))
    out, steps, real = tmp_path / "out", [step], Path.replace
    assert main(["convert", str(old), "-o", str(out), *MARKED]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def fails_once(path, target):
        steps[0] -= 1
        if steps[0] == -1:
            raise PermissionError(13, "Permission denied")
        return real(path, target)

    monkeypatch.setattr(Path, "replace", fails_once)
    code = main(["convert", str(new), "-o", str(out), "--overwrite", *MARKED])
    assert code == (2 if step < 4 else 0)  # two tables are set aside, and two are written
    after = {path.name: path.read_bytes() for path in out.iterdir()}
    assert (after == before) == bool(code)
    assert after.keys() == before.keys()
    assert not code or "earlier content is unchanged" in " ".join(capsys.readouterr().err.split())


def test_tables_that_are_replaced_keep_their_permissions(tmp_path):
    traces, out = write_lines(tmp_path / "runs.jsonl", make_runs()), tmp_path / "out"
    assert main(["convert", str(traces), "-o", str(out)]) == 0
    (out / "log.parquet").chmod(0o600)
    assert main(["convert", str(traces), "-o", str(out), "--overwrite"]) == 0
    assert (out / "log.parquet").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
@pytest.mark.parametrize("command", ["doctor", "convert"])
def test_a_killed_reader_leaves_nothing_in_the_temporary_folder(tmp_path, command):
    traces = write_lines(tmp_path / "runs.jsonl", make_runs())
    write_csv(tmp_path / "f.csv", [{"call_id": "run-0", "score": 1}])
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = (
        "import os, signal, sys\n"
        "import deconfound.traces.trace_import as reading\n"
        "reading._require_content = lambda reader, table: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from deconfound.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    options = ("-o", str(tmp_path / "out")) if command == "convert" else ()
    done = subprocess.run(
        [sys.executable, "-c", script, command, str(traces), *options],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -9
    assert list(temporary.iterdir()) == []
