"""A log in batches is the same study as the log in one piece, or an error that names the rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deconfound.data import Study
from deconfound.errors import DataError
from deconfound.loading import load
from deconfound.loading.log_size import LongLog
from tests.loading.test_messy_exports import AS_BEFORE, REFUSED

NOT_IN_LINES = ("one list of objects", "a compressed list of objects")  # read as a whole at any size


def in_batches(rows: int, **more: int) -> LongLog:
    return LongLog(min_rows=0, min_bytes=0, batch_rows=rows, batch_bytes=200, part_bytes=400, **more)


def rows_of(table: pa.Table) -> list[str]:
    ordered = table.select(sorted(table.column_names)).to_pylist()
    return sorted(
        str({name: round(v, 12) if isinstance(v, float) else v for name, v in row.items()}) for row in ordered
    )


def streamed_rows(study: Study) -> list[str]:
    batches = [log.arrow for part in study.log_stream.parts for log in part.batches()]
    assert len({tuple(batch.column_names) for batch in batches}) == 1
    return rows_of(pa.concat_tables(batches))


def assert_same(study: Study, whole: Study) -> None:
    assert study.log_stream.rows == len(whole.log)
    assert rows_of(study.log.arrow) == rows_of(whole.log.arrow)
    assert streamed_rows(study) == rows_of(whole.log.arrow)
    for role in ("experiment", "replay", "unrated_log", "unrated_experiment"):
        one, other = getattr(study, role), getattr(whole, role)
        assert (one is None) == (other is None)
        assert one is None or rows_of(one.arrow) == rows_of(other.arrow)
    assert (study.models, study.uncompared_models) == (whole.models, whole.uncompared_models)
    replayed = whole.replay.unique_values("context_id")
    on_replayed = whole.log.arrow.filter(pa.array([c in replayed for c in whole.log.arrow["context_id"].to_pylist()]))
    assert rows_of(study.log_stream.on_replayed.arrow) == rows_of(on_replayed)


def messages(study: Study) -> set[tuple[str, str, str]]:
    notices = {(f.check, f.verdict, f.details.message) for f in study.findings}
    return {notice for notice in notices if notice[0] != "log in batches"}


@pytest.mark.parametrize("rows", [7])
@pytest.mark.parametrize("name", [name for name in AS_BEFORE if name not in NOT_IN_LINES])
def test_a_messy_export_in_batches_is_the_same_study(tmp_path, name, rows):
    arguments = AS_BEFORE[name].save(tmp_path)
    whole, study = load(**arguments), load(**arguments, long_log=in_batches(rows))
    assert_same(study, whole)
    assert messages(study) == messages(whole)


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("name", [name for name in REFUSED if name != "an empty file"])
def test_what_cannot_be_read_cannot_be_read_in_batches(tmp_path, name, rows):
    export, fragments = REFUSED[name]
    with pytest.raises(DataError) as caught:
        load(**export.save(tmp_path), long_log=in_batches(rows))
    assert fragments[0] in str(caught.value)


@pytest.mark.parametrize("rows", [2])
@pytest.mark.parametrize("name", [name for name in AS_BEFORE if name not in NOT_IN_LINES])
def test_the_first_rows_decide_for_all(tmp_path, name, rows):
    """With three first rows, later ones are read as they would be in one piece, or refused with their numbers."""
    arguments = AS_BEFORE[name].save(tmp_path)
    assert_same(load(**arguments, long_log=in_batches(rows, head_rows=3)), load(**arguments))
