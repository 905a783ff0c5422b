"""Large and hostile inputs end within bounds of time and memory, or are refused at once with the reason."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound import evaluation
from deconfound.cli import main
from deconfound.data.cross_table import MAX_MODELS
from deconfound.design import Rows
from deconfound.errors import MAX_PRINTED_PROBLEMS, Problem, UsageError
from deconfound.features.distinct_rows import distinct_rows
from deconfound.loading import load_replay
from deconfound.loading.input_limit import LIMIT_VARIABLE, MAX_COLUMNS, max_input_bytes
from deconfound.planning import AssumedInputs
from deconfound.reward import family_by_name
from deconfound.reward.auto import family, gaussian
from deconfound.reward.fit import RewardFit
from tests.support.commands import evaluate_command
from tests.support.results import demo_result, load_demo, prepared_demo, small_demo


def test_many_experiment_rows_are_solved_iteratively_with_the_same_answer(monkeypatch):
    """Above this number of rows ``auto`` factors no matrix of the experiment's size."""
    expected = demo_result()  # before the change: results are stored for other tests
    monkeypatch.setattr(family, "MAX_FACTORED_ROWS", 1)
    again = prepared_demo().evaluate("auto")
    assert not np.array_equal(again.values.estimate, expected.values.estimate)  # another solver
    np.testing.assert_allclose(again.values.estimate, expected.values.estimate, atol=1e-7)
    np.testing.assert_allclose(again.values.interval(), expected.values.interval(), atol=1e-7)
    assert again.attribution is not None
    np.testing.assert_allclose(again.attribution.shares, expected.attribution.shares, atol=1e-6)
    assert [row.model for row in again.recommendations] == [row.model for row in expected.recommendations]


def test_every_resample_of_the_experiment_is_solved_once(monkeypatch):
    """Recommendations and attribution use the same bootstrap refits."""
    solved = []
    solve = gaussian.FactoredRows.solve
    monkeypatch.setattr(gaussian.FactoredRows, "solve", lambda *args: solved.append(1) or solve(*args))
    prepared_demo().evaluate("auto")
    refits, folds, final = dc.EvaluationOptions().refits, 5, 1
    assert len(solved) == refits + folds + final


# Decompressed size


def write_csv(path, codec, rows):
    line = b"c,m,o\n" * rows
    with pa.CompressedOutputStream(str(path), codec) as stream:
        stream.write(b"context,model,output\n" + line)


@pytest.mark.parametrize(("ending", "codec"), [("gz", "gzip"), ("zst", "zstd")])
def test_a_compressed_file_is_read_only_up_to_the_limit(tmp_path, monkeypatch, ending, codec):
    """Twelve megabytes in a few kilobytes; the limit is five."""
    monkeypatch.setenv(LIMIT_VARIABLE, "0.005")
    path = tmp_path / f"replay.csv.{ending}"
    write_csv(path, codec, 2_000_000)
    assert path.stat().st_size < 100_000
    with pytest.raises(dc.DataError, match=r"replay.csv.\w+: .* more than 0.005 GB.*DECONFOUND_MAX_INPUT_GB=1 "):
        load_replay(path)


def test_the_limit_can_be_raised(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.02")
    path = tmp_path / "replay.csv.zst"
    write_csv(path, "zstd", 1_000)
    assert len(load_replay(path)) == 1_000


def test_a_plain_file_beyond_the_limit_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.000001")
    path = tmp_path / "replay.csv"
    path.write_bytes(b"context,model,output\n" + b"c,m,o\n" * 1_000)
    with pytest.raises(dc.DataError, match="the limit for one file"):
        load_replay(path)


@pytest.mark.parametrize("text", ["much", "-1", "0", "nan"])
def test_a_limit_that_is_no_size_is_refused(monkeypatch, text):
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    with pytest.raises(UsageError, match="DECONFOUND_MAX_INPUT_GB must be a number"):
        max_input_bytes()


@pytest.mark.parametrize("name", ["exp-only", "auto"])
def test_experiments_too_large_for_a_family_are_refused_before_the_work(study, name, monkeypatch, capsys):
    monkeypatch.setattr(family_by_name(name), "max_experiment_rows", 20)
    monkeypatch.setattr(evaluation, "prepare", unexpected)
    assert main(evaluate_command(study, "--family", name)) == 2
    message = capsys.readouterr().err
    assert f"randomized rows are too many for the family {name}, which takes at most 20" in message
    assert "random sample" in message
    with pytest.raises(dc.UsageError, match="are too many for the family"):
        dc.evaluate(load_demo(small_demo()), name)


def long_text_study(rows, length):
    return pa.table({"context": ["c"] * rows, "model": ["m"] * rows, "output": ["x" * length] * rows})


def assert_refused_without_reading(path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.001")
    monkeypatch.setattr(pq.ParquetFile, "read", unexpected)
    with pytest.raises(dc.DataError, match=r"replay.parquet: .* more than 0.001 GB"):
        load_replay(path)


def test_parquet_that_is_too_large_is_refused_by_its_metadata(tmp_path, monkeypatch):
    path = tmp_path / "replay.parquet"
    pq.write_table(long_text_study(20, 200_000), path, use_dictionary=False, compression="zstd")
    assert_refused_without_reading(path, monkeypatch)


def test_one_text_that_parquet_repeats_counts_as_often_as_it_occurs(tmp_path, monkeypatch):
    """The file stores the text once: its metadata says 20 kB, and the table has 20 MB."""
    path = tmp_path / "replay.parquet"
    pq.write_table(long_text_study(1_000, 20_000), path, compression="none")
    assert path.stat().st_size < 100_000
    assert_refused_without_reading(path, monkeypatch)


def prefixed_texts(path, rows, length):
    """Texts that are stored as what they add to the one before: nothing."""
    encodings = {"output": "DELTA_BYTE_ARRAY"}
    pq.write_table(long_text_study(rows, length), path, use_dictionary=False, column_encoding=encodings)
    assert path.stat().st_size < 100_000


def test_texts_that_share_their_beginning_count_in_full(tmp_path, monkeypatch):
    path = tmp_path / "replay.parquet"
    prefixed_texts(path, 1_000, 20_000)
    assert_refused_without_reading(path, monkeypatch)


def test_texts_that_share_their_beginning_are_decoded_a_few_at_once(tmp_path, monkeypatch):
    """A text of 1 MB, 500 times, against a limit of 100 MB: memory stays near the limit."""
    path = tmp_path / "replay.parquet"
    prefixed_texts(path, 500, 1_000_000)
    monkeypatch.setenv(LIMIT_VARIABLE, "0.1")
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    earlier = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(dc.DataError, match=r"more than 0.1 GB"):
            load_replay(path)
    finally:
        pa.set_memory_pool(earlier)
    assert pool.max_memory() < 200_000_000


def test_texts_that_share_their_beginning_are_read_within_the_limit(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.01")
    path = tmp_path / "replay.parquet"
    prefixed_texts(path, 100, 20_000)
    assert len(load_replay(path)) == 100


def test_values_of_fixed_length_count_in_full(tmp_path, monkeypatch):
    path = tmp_path / "replay.parquet"
    table = long_text_study(1_000, 3).append_column("raw", pa.array([b"y" * 20_000] * 1_000, pa.binary(20_000)))
    pq.write_table(table, path)
    assert path.stat().st_size < 100_000
    assert_refused_without_reading(path, monkeypatch)


def test_a_table_of_too_many_columns_is_refused(tmp_path):
    path = tmp_path / "replay.csv"
    path.write_text(",".join(f"c{i}" for i in range(MAX_COLUMNS + 1)) + "\n")
    with pytest.raises(dc.DataError, match=r"100,001 columns, and at most 100,000 can be read"):
        load_replay(path)


def test_repeated_texts_within_the_limit_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.01")
    path = tmp_path / "replay.parquet"
    pq.write_table(long_text_study(100, 20_000), path)
    assert len(load_replay(path)) == 100


def test_columns_of_one_repeated_number_count_in_full(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.001")
    path = tmp_path / "replay.parquet"
    pq.write_table(pa.table({"feature_x": np.zeros(1_000_000)}), path)
    assert path.stat().st_size < 10_000
    with pytest.raises(dc.DataError, match=r"more than 0.001 GB"):
        load_replay(path)


def unexpected(*_args, **_options):
    raise AssertionError("the file was decoded")


# Memory


@pytest.mark.parametrize("error", [MemoryError(), pa.ArrowMemoryError("realloc of size 8 failed")])
@pytest.mark.parametrize("format_name", ["parquet", "csv.zst", "jsonl"])
def test_a_lack_of_memory_while_reading_is_no_damage(tmp_path, monkeypatch, capsys, format_name, error):
    path = tmp_path / f"log.{format_name}"
    if format_name == "parquet":
        pq.write_table(long_text_study(2, 3), path)
        target = "deconfound.loading.parquet._require_decoded_size"
    elif format_name == "jsonl":
        path.write_text('{"context": "c"}\n')
        target = "pyarrow.json.read_json"
    else:
        write_csv(path, "zstd", 3)
        target = "deconfound.loading.files.require_size"
    monkeypatch.setattr(target, lambda *_args, **_options: raises(error))
    code = main(["check", "--log", str(path), "--experiment", str(path), "--replay", str(path), "-q"])
    assert code == 2
    message = capsys.readouterr().err
    assert "memory" in message
    assert "Traceback" not in message


def raises(error):
    raise error


def test_a_lack_of_memory_in_numpy_ends_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["deconfound.cli.command_line"], "_run_command", lambda _arguments: np.empty(2**50))
    assert main(["demo"]) == 2
    assert capsys.readouterr().err.startswith("deconfound: the memory of this computer is not enough")


# Many models, many columns


def wide_tables(models, replayed=None):
    names = [f"m{i:04}" for i in range(models)]
    rated = pa.table({"context": ["a", "b"] * models, "model": names * 2, "output": ["x"] * 2 * models})
    rated = rated.append_column("outcome", pa.array(np.tile([0.0, 1.0], models)))
    names = names[:replayed]
    replay = pa.table({"context": ["a"] * len(names) + ["b"] * len(names), "model": names * 2})
    return {"log": rated, "experiment": rated.slice(0), "replay": replay.append_column("output", replay["model"])}


def test_of_many_problems_the_first_twenty_are_printed_and_the_others_counted(tmp_path, capsys):
    for name, table in wide_tables(500, replayed=250).items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    files = [
        part for name in ("log", "experiment", "replay") for part in (f"--{name}", str(tmp_path / f"{name}.parquet"))
    ]
    assert main(["check", *files, "-q"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("deconfound: 250 problems:")
    assert message.count("has no replay") == MAX_PRINTED_PROBLEMS
    assert "230 more" in message
    assert len(message) < 10_000


def test_the_message_of_an_exception_is_as_short():
    error = dc.DataError([Problem(f"row {i}", "it is wrong", "Correct it.") for i in range(50)])
    assert len(error.problems) == 50
    assert len(str(error).splitlines()) == MAX_PRINTED_PROBLEMS + 1
    assert str(error).endswith("30 more. Fix these first, then run again.")


def test_too_many_models_are_refused_before_any_work():
    with pytest.raises(UsageError, match=r"1,001 models are to be compared, and at most 1,000 can be"):
        dc.load(**wide_tables(MAX_MODELS + 1))
    with pytest.raises(UsageError, match="--models must be at most 1,000, not 2,000"):
        AssumedInputs(2_000, 0.4)


def test_the_names_of_columns_are_read_a_fixed_number_of_times():
    """Reading them for every column made the time grow with the square of their number."""
    reads = []

    class Table:
        num_rows = 0

        @property
        def column_names(self):
            reads.append(1)
            return [f"feature_{i}" for i in range(100)]

    with pytest.raises(UsageError, match="no column other"):
        distinct_rows(Table(), False, (*Table().column_names, "other"))
    assert len(reads) == 2


def test_contrasts_of_many_models_are_those_of_each_pair():
    """All pairs are computed at once; a pair by itself has the same difference and standard error."""
    values = demo_result().values
    for contrast in values.contrasts():
        alone = values.contrast(contrast.model, contrast.reference)
        assert (contrast.difference, contrast.standard_error) == (alone.difference, alone.standard_error)
        assert contrast.low <= alone.low <= alone.high <= contrast.high


def test_the_reward_of_every_model_is_that_of_each_by_itself():
    rng = np.random.default_rng(0)
    rows = Rows(rng.random((7, 3)), modifiers=rng.random((7, 2)))
    fit = RewardFit(0.2, rng.random(3) / 9, model_effect=rng.random(4) / 9, modifier_coef=rng.random((4, 2)) / 9)
    for models in (3, 4, 6):  # fewer than were fitted, as many, and more
        expected = [replace_model(rows, model) for model in range(models)]
        together = fit.predict_by_model(rows, models)
        np.testing.assert_allclose(together, np.column_stack([fit.predict(each) for each in expected]))


def replace_model(rows, model):
    return Rows(rows.phi, model=np.full(len(rows), model), modifiers=rows.modifiers)
