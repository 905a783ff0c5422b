"""The planted studies of the benchmark of routing: what pays, and that nothing but the topic decides."""

from __future__ import annotations

import numpy as np
import pytest

import deconfound as dc
from benchmarks.route_studies import EXPERIMENT_ROWS, MODELS, VALUE, make_study


@pytest.mark.parametrize("pays", [True, False])
def test_routing_pays_only_where_it_is_planted(pays):
    study = make_study(1, pays=pays)
    gain = study.fresh_q.max(axis=1).mean() - study.fresh_q.mean(axis=0).max()
    assert (gain > 0.08) == pays
    assert gain > 0.08 or gain == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(study.fresh_q.mean(axis=0), VALUE, atol=0.02)
    loaded = dc.load(log=study.log, experiment=study.experiment, replay=study.replay)
    assert loaded.models == MODELS
    assert len(loaded.experiment) == EXPERIMENT_ROWS
