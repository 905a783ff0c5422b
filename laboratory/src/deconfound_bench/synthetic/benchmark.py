"""The controlled validation as the sweep runs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from deconfound.errors import UsageError
from deconfound.reward import Cvci, ExpOnly, Family, ObsOnly, RepresentationExp
from deconfound_bench.articles import Corpus, make_articles, read_articles
from deconfound_bench.artifact_dir import building, is_current, sha256_hex
from deconfound_bench.replication import FOLDS, Candidate, candidate_for, score_candidates
from deconfound_bench.results import Cell, Score
from deconfound_bench.summarizers import SUMMARIZERS
from deconfound_bench.sweep import Opener, Progress, Task
from deconfound_bench.synthetic.constants import CORPUS_VERSION, UNDERFIT_PENALTY, UNDERFIT_REWARD, Constants, Sizes
from deconfound_bench.synthetic.draws import LABEL_PENALTY, SyntheticSampler
from deconfound_bench.synthetic.pool import POOL_VERSION, build_pool, load_pool

PROTOCOL_VERSION = 5  # results of different versions are not mixed
CONSTANTS_WITHOUT_EFFECT_ON_THE_POOL = ("noise", "label_noise", "longest_log", "longest_experiment")
TARGETED_FAMILIES = (ExpOnly.name, ObsOnly.name, RepresentationExp.name, Cvci.name)


@dataclass(frozen=True, slots=True)
class SyntheticBenchmark:
    """One set of constants on one set of articles."""

    name: str
    setting: Constants
    pool: Path  # folder of the saved arrays
    articles: Path | None  # None for the built-in ones
    articles_digest: str
    workers: int  # processes that write summaries

    @property
    def constants(self) -> str:
        """Canonical JSON of everything that determines the results. The keys are a file format."""
        document = {
            "benchmark": self.name,
            "version": PROTOCOL_VERSION,
            "articles": self.articles_digest,
            "models": [summarizer.name for summarizer in SUMMARIZERS],
            "label_penalty": LABEL_PENALTY,
            "underfit": UNDERFIT_PENALTY,
            "folds": FOLDS,
            **asdict(self.setting),
        }
        return json.dumps(document, sort_keys=True)

    def group(self, cell: Cell) -> str:
        """All experiment sizes share one log."""
        return f"confounding {cell.confounding:g}, {cell.n_log} log rows"

    def prepare(self, directory: Path, progress: Progress) -> None:  # noqa: ARG002  (the pool has its own folder)
        """Build the pool, unless it is already saved."""
        digest = self.pool_digest()
        with building(self.pool):
            if is_current(self.pool, POOL_VERSION, digest):
                return
            progress("reading articles" if self.articles else "generating articles", 0.0)
            build_pool(self._corpus(), self.setting, self.workers, progress).save(self.pool, digest)

    def opener(self, directory: Path) -> Opener:  # noqa: ARG002
        """Name, setting and pool."""
        settings = {"name": self.name, "setting": asdict(self.setting), "pool": str(self.pool.absolute())}
        return Opener(__name__, open_synthetic.__name__, json.dumps(settings))

    def pool_digest(self) -> str:
        """Hash of what determines the pool: settings that differ only in noise and sizes share one."""
        inputs = {**asdict(self.setting), "articles": self.articles_digest, "version": PROTOCOL_VERSION}
        for name in CONSTANTS_WITHOUT_EFFECT_ON_THE_POOL:
            del inputs[name]
        return sha256_hex(json.dumps(inputs, sort_keys=True))

    def _corpus(self) -> Corpus:
        sizes = self.setting.sizes
        if self.articles is not None:
            return read_articles(self.articles)
        return make_articles(sizes.contexts + sizes.truth + sizes.evaluation + sizes.embedding, self.setting.seed)


def corpus_digest(corpus: Corpus | None) -> str:
    """What identifies the articles in the constants: the version of the built-in ones, or the digest of a file's."""
    return f"built-in, edition {CORPUS_VERSION}" if corpus is None else corpus.digest


def open_synthetic(settings: str) -> SyntheticWorker:
    """Memory-map the pool and compute the truth."""
    document = json.loads(settings)
    setting = Constants(**{**document["setting"], "sizes": Sizes(**document["setting"]["sizes"])})
    models = tuple(summarizer.name for summarizer in SUMMARIZERS)
    sampler = SyntheticSampler.from_pool(load_pool(Path(document["pool"])), setting, models)
    return SyntheticWorker(document["name"], sampler)


@dataclass(frozen=True, slots=True)
class SyntheticWorker:
    """The benchmark in one process."""

    name: str
    sampler: SyntheticSampler

    def run(self, task: Task) -> Sequence[Score]:
        """Draw the log of the task once and score the families at each experiment size."""
        cells = sorted({cell for cell, _ in task.pairs})
        replication = self.sampler.replication(cells[0].confounding, cells[0].n_log, task.seed)
        scores = []
        for cell in cells:
            families = [family for other, family in task.pairs if other == cell]
            underfit = cell.reward == UNDERFIT_REWARD
            candidates = [underfit_candidate(name, cell) if underfit else candidate_for(name) for name in families]
            scores += score_candidates(replication, candidates, self.name, cell, task.seed)
        return scores


def underfit_candidate(name: str, cell: Cell) -> Candidate:
    """A family of the targeted regime: one large penalty per row, nothing tuned."""
    fixed: dict[str, Family] = {
        ExpOnly.name: ExpOnly(UNDERFIT_PENALTY * cell.n_experiment),
        ObsOnly.name: ObsOnly(UNDERFIT_PENALTY * cell.n_log),
        RepresentationExp.name: RepresentationExp(UNDERFIT_PENALTY * cell.n_experiment),
        Cvci.name: Cvci(0.5, UNDERFIT_PENALTY),
    }
    if name not in fixed:
        raise UsageError(f"The targeted regime compares {', '.join(fixed)}; {name} has no underfitted version.")
    return Candidate(fixed[name], tuned=False)
