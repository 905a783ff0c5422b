"""The proxy map: principal components of the predicted labels, against dense re-implementations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from deconfound.features import SURFACE_STATISTICS
from tests.support.feature_studies import SMALL, make_log, with_columns


def dense_ridge(phi, targets, penalty, weight):
    """Normal equations with an explicit, unpenalized column of ones."""
    full = np.column_stack([phi, np.ones(len(phi))])
    penalties = np.diag([penalty] * phi.shape[1] + [0.0])
    return np.linalg.solve((full * weight[:, None]).T @ full + penalties, (full * weight[:, None]).T @ targets)


def test_components_are_the_principal_components_of_the_predicted_labels():
    """On all log rows, one by one, instead of weighted distinct rows; signs of components are free."""
    log = make_log(n=200, labels=3)
    _, blocks = replace(SMALL, components=2, label_penalty=0.5).fit_transform_log(log)
    phi = blocks.phi(0.5).toarray()[blocks.row_index]
    labels = np.column_stack([log.arrow[f"label_{at}"].to_numpy() for at in range(3)])
    solution = dense_ridge(phi, labels / labels.std(axis=0), 0.5, np.ones(len(phi)))
    predicted = phi @ solution[:-1]
    _, _, directions = np.linalg.svd(predicted - predicted.mean(axis=0), full_matrices=False)
    expected = (predicted - predicted.mean(axis=0)) @ directions[:2].T
    expected /= expected.std(axis=0)
    components = blocks.psi[blocks.row_index][:, :2]
    np.testing.assert_allclose(np.abs(components), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(components.std(axis=0), 1.0, rtol=1e-6)
    assert blocks.psi.shape[1] == 2 + len(SURFACE_STATISTICS)


def test_units_of_labels_do_not_matter():
    log = make_log(labels=3)
    metres = log.arrow["label_2"].to_numpy()
    one, other = (
        replace(SMALL, components=2).fit_transform_log(each)[1]
        for each in (log, with_columns(log, label_2=1000 * metres))
    )
    np.testing.assert_allclose(one.psi, other.psi, atol=1e-7)


def test_rows_without_a_label_do_not_influence_its_fit_and_are_reported():
    log = make_log(n=120, labels=1)
    values = log.arrow["label_0"].to_numpy().copy()
    values[::3] = np.nan
    incomplete = with_columns(log, label_0=pa.array(values, from_pandas=True))
    spec = replace(SMALL, surface=False)
    featurizer, blocks = spec.fit_transform_log(incomplete)
    present = np.flatnonzero(np.isfinite(values))
    phi = blocks.text.toarray()[blocks.row_index]
    scaled = values[present] / np.nanstd(values)
    solution = dense_ridge(phi[present], scaled, spec.label_penalty, np.ones(len(present)))
    predicted = phi @ solution[:-1]
    expected = (predicted - predicted.mean()) / predicted.std()
    np.testing.assert_allclose(np.abs(blocks.psi[blocks.row_index][:, 0]), np.abs(expected), atol=1e-6)
    (finding,) = featurizer.findings
    assert (finding.check, finding.verdict) == ("labels", "warn")
    assert "label_0 is missing in 40 of the log's 120 rows" in finding.message


def test_a_constant_label_is_left_out_and_reported():
    log = with_columns(make_log(labels=2), label_1=[0.3] * 60)
    featurizer, blocks = replace(SMALL, surface=False).fit_transform_log(log)
    assert blocks.psi.shape[1] == 1
    (finding,) = featurizer.findings
    assert finding.check == "labels"
    assert "label_1" in finding.message
