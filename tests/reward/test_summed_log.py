"""Every family fitted to sums over a log, against the same family fitted to its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from deconfound.design import Rows, feature_matrix
from deconfound.features.batch_sums import add_batch
from deconfound.linalg.log_sums import LogBatch, LogSums, SumsLayout, total
from deconfound.reward import FAMILIES, Auto
from deconfound.reward.auto.variance_components import VarianceComponents
from deconfound.reward.summed_log import FeatureMaps, SummedLog
from deconfound.reward.training_data import TrainingData

TEXT, DENSE, MODIFIERS, PROXIES = 32, 5, 4, 3
NAMES = ("ant", "bee", "cat")
SHARE = 0.3


@dataclass(frozen=True)
class Table:
    """Columns as a log has them before phi and psi are formed."""

    text: sparse.csr_matrix
    dense: np.ndarray
    modifiers: np.ndarray
    model: np.ndarray
    outcome: np.ndarray

    def rows(self, maps: FeatureMaps) -> Rows:
        x = np.hstack([self.text.toarray(), self.dense])
        psi = np.hstack([x, np.ones((len(x), 1))]) @ maps.psi_coef
        phi = sparse.csr_matrix(x[:, maps.phi_at] * maps.phi_scale)
        return Rows(feature_matrix(phi), psi, self.outcome, self.model, modifiers=self.modifiers * maps.modifier_weight)


def table(seed: int, count: int, *, text: int = TEXT) -> Table:
    rng = np.random.default_rng(seed)
    return Table(
        sparse.random(count, text, 0.2, random_state=seed, format="csr"),
        rng.normal(size=(count, DENSE)),
        rng.normal(size=(count, MODIFIERS)),
        rng.integers(3, size=count),
        rng.random(count),
    )


def feature_maps(share: float, *, text: int = TEXT) -> FeatureMaps:
    """As ``auto`` has them at share 0, and the other families above."""
    rng = np.random.default_rng(9)
    weight = rng.uniform(0.2, 0.6, DENSE)
    scale = np.concatenate([np.full(text, np.sqrt(1 - share)), np.sqrt(2 * share) * weight])
    used = np.flatnonzero(scale) if text else np.arange(DENSE)
    identity = np.eye(text + DENSE + 1)[:, text : text + DENSE]
    psi = np.hstack([rng.normal(size=(text + DENSE + 1, PROXIES)), identity]) if text else identity
    phi_scale = scale[used] if text else np.sqrt(2.0) * weight
    return FeatureMaps(used, phi_scale, psi, rng.uniform(0.1, 0.5, MODIFIERS), psi_repeats_phi=False)


def summed(log: Table, maps: FeatureMaps, parts: int = 3) -> SummedLog:
    """The sums in several parts; the sample is all rows."""
    layout = SumsLayout(log.text.shape[1], DENSE, 1, MODIFIERS)
    sums = []
    for at in np.array_split(np.arange(len(log.model)), parts):
        part, by_model = LogSums.zero(layout), at[np.argsort(log.model[at], kind="stable")]
        columns = (log.dense, log.outcome[:, None], log.modifiers, log.model)
        add_batch(part, LogBatch(log.text[by_model], *(column[by_model] for column in columns), NAMES))
        sums.append(part)
    return SummedLog(total(sums), NAMES, maps, log.rows(maps))


def pair(share: float, text: int = TEXT):
    """The same study both ways."""
    log, experiment, maps = table(0, 400, text=text), table(1, 70, text=text), feature_maps(share, text=text)
    experiment_rows = experiment.rows(maps)
    return TrainingData(log.rows(maps), experiment_rows), TrainingData(summed(log, maps), experiment_rows)


@pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])
def test_every_family_of_the_paper_agrees_to_eight_digits(family):
    by_rows, by_sums = pair(SHARE)
    candidates = family().grid(by_rows)
    assert candidates == family().grid(by_sums)
    one, other = family.prepare(by_rows, candidates), family.prepare(by_sums, candidates)
    trains = [np.arange(70), np.arange(0, 70, 3)]
    new = table(5, 40).rows(feature_maps(SHARE))
    for candidate in candidates[:: max(len(candidates) // 5, 1)]:
        for left, right in zip(one.predict(candidate, trains), other.predict(candidate, trains), strict=True):
            np.testing.assert_allclose(left, right, atol=1e-8)
        left, right = one.fit(candidate, trains[1]), other.fit(candidate, trains[1])
        np.testing.assert_allclose(left.predict(new), right.predict(new), atol=1e-8)


@pytest.mark.parametrize("text", [TEXT, 0], ids=["text", "columns only"])
def test_auto_agrees_to_eight_digits(text):
    by_rows, by_sums = pair(0.0, text)
    candidate = Auto(VarianceComponents.from_array(np.random.default_rng(2).uniform(0.01, 0.3, 12)))
    one, other = Auto.prepare(by_rows, [candidate]), Auto.prepare(by_sums, [candidate])
    trains = [np.arange(70), np.arange(0, 70, 3)]
    for left, right in zip(one.predict(candidate, trains), other.predict(candidate, trains), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-8)
    new = table(5, 40, text=text).rows(feature_maps(0.0, text=text))
    left, right = one.fit(candidate, trains[1]), other.fit(candidate, trains[1])
    np.testing.assert_allclose(left.predict_by_model(new, 3), right.predict_by_model(new, 3), atol=1e-8)


def test_a_model_that_the_log_lacks_has_no_effect_from_it():
    log, experiment, maps = table(0, 400), table(1, 70), feature_maps(0.0)
    candidate = Auto(VarianceComponents.from_array(np.full(12, 0.1)))
    without = summed(log, maps)
    renamed = SummedLog(without.sums, ("ant", "bee", "new", "cat"), maps, without.sample)
    rows = experiment.rows(maps)
    rows = Rows(rows.phi, rows.psi, rows.outcome, np.where(rows.model == 2, 3, rows.model), modifiers=rows.modifiers)
    fit = Auto.prepare(TrainingData(renamed, rows), [candidate]).fit(candidate, np.arange(70))
    assert fit.model_effect[2] == 0.0
    assert np.abs(fit.model_effect[[0, 1, 3]]).min() > 0


def test_sums_do_not_depend_on_how_the_log_is_cut():
    log, maps = table(0, 400), feature_maps(SHARE)
    whole, parts = summed(log, maps, 1).sums, summed(log, maps, 7).sums
    np.testing.assert_allclose(whole.gram(), parts.gram(), atol=1e-12)
    assert whole.models.keys() == parts.models.keys()
    assert whole.rows == 400
