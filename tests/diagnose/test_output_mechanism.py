"""A4: the log's outputs against replay of the same context by the same model."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deconfound.data import Log, Study
from deconfound.diagnose.output_mechanism import (
    TooFewReplayedLogContexts,
    check_output_mechanism,
    compare_log_outputs,
)
from deconfound.diagnose.replay_fidelity import compare_experiment_outputs
from tests.support.checking import by_check, each, make_study, study_arrays


def mechanism(study):
    return by_check(check_output_mechanism(study_arrays(study), study, 0, 0.95))["output mechanism"]


def with_replayed_log(seed=0, **changes):
    """A study whose log shares contexts with the replay; a model's outputs have one distribution in both."""
    study = make_study(seed, **changes)
    texts = dict(zip(*(study.experiment.arrow[n].to_pylist() for n in ("context_id", "context")), strict=True))
    names = list(texts)
    table = study.log.arrow
    ids = [names[at % len(names)] for at in range(table.num_rows)]
    table = table.set_column(table.column_names.index("context_id"), "context_id", pa.array(ids))
    table = table.set_column(table.column_names.index("context"), "context", pa.array([texts[i] for i in ids]))
    return Study.from_tables(Log(table, "log"), study.experiment, study.replay)


def test_a_log_on_other_contexts_cannot_be_tested():
    finding = mechanism(make_study())
    assert (finding.verdict, finding.assumption, finding.statistic) == ("cannot tell", "A4", None)
    assert finding.details == TooFewReplayedLogContexts(0, 8)


def test_logged_outputs_like_their_replay_pass():
    finding = mechanism(with_replayed_log())
    assert finding.verdict == "pass"
    assert finding.statistic < 0.65
    assert finding.details.other_source == "log"


def test_a_system_that_remembers_its_user_fails():
    def remember(at, row):
        row["output"] = f"hello again {['anna', 'ben', 'cleo'][at % 3]} {row['output']}"

    finding = mechanism(with_replayed_log(log=each(remember)))
    assert finding.verdict == "fail"
    assert finding.statistic > 0.75


def test_log_rows_of_models_and_contexts_without_replay_are_left_out():
    study = with_replayed_log()
    table = study.log.arrow
    other = pa.table({**{n: table[n].slice(0, 30) for n in table.column_names}, "model": pa.array(["dog"] * 30)})
    table = pa.concat_tables([table, other.select(table.column_names)])
    more = Study.from_tables(Log(table, "log"), study.experiment, study.replay)
    strata = [compare_log_outputs(study_arrays(each_study), each_study, 0).strata for each_study in (study, more)]
    assert strata[0] == strata[1]


@pytest.mark.slow
def test_false_alarms_of_the_output_comparisons():
    """More than 21 alarms in 200 clean studies have probability 0.0006 at 5 %."""
    p_values = []
    for seed in range(200):
        study = with_replayed_log(seed)
        arrays = study_arrays(study)
        p_values.append((compare_experiment_outputs(arrays, 0).p_value, compare_log_outputs(arrays, study, 0).p_value))
    assert max(sum(p < 0.05 for p in column) for column in zip(*p_values, strict=True)) <= 21
