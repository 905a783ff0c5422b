"""Rational Krylov: few directions solve the shifted systems at every shift above the smallest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from deconfound.linalg.rational_krylov import RESIDUAL_RTOL, rational_krylov_eigenpairs
from deconfound.threads import one_blas_thread
from tests.support import naive


@pytest.fixture(autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """As in every call from the package; hundreds of small solves are far slower on two BLAS threads."""
    with one_blas_thread():
        yield


class Spectrum:
    """A positive definite matrix whose eigenvalues are spread evenly over the decades up to one."""

    def __init__(self, size: int, smallest: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.values = np.geomspace(smallest, 1.0, size)
        self.vectors = np.linalg.qr(rng.standard_normal((size, size)))[0]
        self.matrix = (self.vectors * self.values) @ self.vectors.T

    def solve(self, shift: float, right: naive.Array) -> naive.Array:
        """Exact solution of the shifted system."""
        return self.vectors @ ((self.vectors.T @ right) / (self.values + shift)[:, None])


def test_inner_products_are_accurate_at_every_shift() -> None:
    """Six decades and a block of six vectors: far fewer directions than rows, errors near rounding."""
    spectrum = Spectrum(400, 1e-6, seed=0)
    start = spectrum.matrix @ np.random.default_rng(1).standard_normal((400, 6))
    values, vectors = rational_krylov_eigenpairs(spectrum.matrix, start, 1e-4)
    assert vectors.shape[1] < 200
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    projected = vectors.T @ start
    for shift in np.geomspace(1e-4, 1.0, 30):
        exact = start.T @ spectrum.solve(shift, start)
        actual = (projected.T / (values + shift)) @ projected
        np.testing.assert_allclose(actual, exact, rtol=1e-9, atol=1e-9 * abs(exact).max())


def test_the_residual_is_small_at_every_shift() -> None:
    """Between the shifts that the loop checks the residual may be larger, but not by an order of magnitude."""
    spectrum = Spectrum(300, 1e-6, seed=4)
    start = spectrum.matrix @ np.random.default_rng(5).standard_normal((300, 4))
    values, vectors = rational_krylov_eigenpairs(spectrum.matrix, start, 2e-5)
    assert vectors.shape[1] < 200
    for shift in np.geomspace(2e-5, 10.0, 60):
        solution = vectors @ ((vectors.T @ start) / (values + shift)[:, None])
        residual = start - spectrum.matrix @ solution - shift * solution
        assert (np.linalg.norm(residual, axis=0) < 10 * RESIDUAL_RTOL * np.linalg.norm(start, axis=0)).all()


def test_shifts_too_small_for_single_precision_are_factored_in_double() -> None:
    """At 1e-10 of the norm a Cholesky factor in single precision does not even exist."""
    spectrum = Spectrum(120, 1e-12, seed=2)
    start = spectrum.matrix @ np.random.default_rng(3).standard_normal((120, 3))
    values, vectors = rational_krylov_eigenpairs(spectrum.matrix, start, 1e-10)
    projected = vectors.T @ start
    for shift in (1e-10, 1e-6, 1e-2):
        exact = start.T @ np.linalg.solve(spectrum.matrix + shift * np.eye(120), start)
        np.testing.assert_allclose((projected.T / (values + shift)) @ projected, exact, rtol=1e-7)


def test_a_zero_start_gives_an_empty_basis() -> None:
    values, vectors = rational_krylov_eigenpairs(np.eye(5), np.zeros((5, 2)), 1e-3)
    assert values.shape == (0,)
    assert vectors.shape == (5, 0)
