"""The controlled validation as the sweep runner sees it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from deconfound_bench.articles import Corpus, make_articles, read_articles
from deconfound_bench.contenders import contender
from deconfound_bench.contest import compete
from deconfound_bench.entries import FOLDS
from deconfound_bench.kept import is_kept
from deconfound_bench.results import Cell, Score
from deconfound_bench.sweep import Progress, Task
from deconfound_bench.synthetic.constants import EDITION, UNDERFIT, UNDERFITTED, Constants
from deconfound_bench.synthetic.contests import LABEL_PENALTY, Ring
from deconfound_bench.synthetic.making import make_pool
from deconfound_bench.synthetic.pool import VERSION as POOL_VERSION
from deconfound_bench.synthetic.pool import load_pool
from deconfound_bench.synthetic.targeted import underfitted
from deconfound_bench.systems import SYSTEMS

VERSION = 4  # of the protocol; results of another version are not mixed with these
NOT_IN_THE_POOL = ("noise", "label_noise", "longest_log", "longest_experiment")


@dataclass(frozen=True, slots=True)
class Synthetic:
    """One set of constants on one set of articles."""

    name: str
    setting: Constants
    pool: Path  # where the texts in numbers are kept
    articles: Path | None  # None for the built-in ones
    articles_digest: str
    workers: int  # that may write summaries

    @property
    def constants(self) -> str:
        """Canonical JSON of all that decides the numbers."""
        listed = {
            "benchmark": self.name,
            "version": VERSION,
            "articles": self.articles_digest,
            "models": [system.name for system in SYSTEMS],
            "label_penalty": LABEL_PENALTY,
            "underfit": UNDERFIT,
            "folds": FOLDS,
            **asdict(self.setting),
        }
        return json.dumps(listed, sort_keys=True)

    def group(self, cell: Cell) -> str:
        """One log serves all sizes of the experiment."""
        return f"confounding {cell.confounding:g}, {cell.n_log} log rows"

    def prepare(self, directory: Path, progress: Progress) -> None:  # noqa: ARG002  (the pool has a folder of its own)
        """Make the pool, unless it is kept already."""
        digest = self._pool_digest()
        if is_kept(self.pool, POOL_VERSION, digest):
            return
        progress("reading articles" if self.articles else "writing articles", 0.0)
        make_pool(self._corpus(), self.setting, self.workers, progress).save(self.pool, digest)

    def open(self, directory: Path) -> SyntheticWorker:  # noqa: ARG002
        """Map the pool and work out the truth."""
        ring = Ring.of(load_pool(self.pool), self.setting, tuple(system.name for system in SYSTEMS))
        return SyntheticWorker(self.name, ring)

    def _corpus(self) -> Corpus:
        sizes = self.setting.sizes
        if self.articles is not None:
            return read_articles(self.articles)
        return make_articles(sizes.contexts + sizes.truth + sizes.evaluation + sizes.embedding, self.setting.seed)

    def _pool_digest(self) -> str:
        """Of what the pool depends on: the same texts serve laws that differ in their noise alone."""
        told = {**asdict(self.setting), "articles": self.articles_digest, "version": VERSION}
        for name in NOT_IN_THE_POOL:
            del told[name]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def articles_digest(corpus: Corpus | None) -> str:
    """What names the articles in the constants: the edition of the built-in ones, or the digest of a file's."""
    return f"built-in, edition {EDITION}" if corpus is None else corpus.digest


@dataclass(frozen=True, slots=True)
class SyntheticWorker:
    """The benchmark in one process."""

    name: str
    ring: Ring

    def run(self, task: Task) -> Sequence[Score]:
        """Draw the log of the task once and let the families compete at each size of the experiment."""
        cells = sorted({cell for cell, _ in task.wanted})
        contest = self.ring.contest(cells[0].confounding, cells[0].n_log, task.seed)
        scores = []
        for cell in cells:
            enter = underfitted if cell.reward == UNDERFITTED else contender
            contenders = [enter(family, cell) for wanted, family in task.wanted if wanted == cell]
            marks = compete(contest, contenders, cell.n_experiment, task.seed)
            scores += [mark.score(self.name, cell, task.seed) for mark in marks]
        return scores
