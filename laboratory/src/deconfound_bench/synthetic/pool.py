"""The texts of the controlled validation in numbers: made once, kept, and shared by every cell, seed and worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray
from deconfound_bench.gram_rows import GramStore
from deconfound_bench.kept import appearing, tell
from deconfound_bench.synthetic.draws import Written

VERSION = 1


@dataclass(frozen=True, slots=True)
class Pool:
    """Everything that draws and evaluations read."""

    store: GramStore  # the kept rows' phi
    kept: Written
    truth: Written  # held out from log and experiment
    evaluation: Written  # held out, too
    evaluation_phi: FloatArray  # (rows, r) in the store's coordinates

    def save(self, directory: Path, digest: str) -> None:
        """Write a folder that ``load_pool`` maps into memory; it appears whole or not at all."""
        with appearing(directory) as made:
            np.save(made / "kernel.npy", self.store.kernel)
            np.save(made / "coordinates.npy", self.store.coordinates)
            np.save(made / "evaluation_phi.npy", self.evaluation_phi)
            for name, part in (("kept", self.kept), ("truth", self.truth), ("evaluation", self.evaluation)):
                np.savez(made / f"{name}.npz", row=part.row, hidden=part.hidden, embedding=part.embedding)
            tell(made, {"version": VERSION, "digest": digest})


def load_pool(directory: Path) -> Pool:
    """The pool, its large arrays mapped so that workers share one copy."""
    kernel, coordinates, phi = (
        np.load(directory / f"{name}.npy", mmap_mode="r") for name in ("kernel", "coordinates", "evaluation_phi")
    )
    kept, truth, evaluation = (_written(directory / f"{name}.npz") for name in ("kept", "truth", "evaluation"))
    return Pool(GramStore(coordinates, kernel), kept, truth, evaluation, phi)


def _written(path: Path) -> Written:
    with np.load(path) as held:
        return Written(held["row"], held["hidden"], held["embedding"])
