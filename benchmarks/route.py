"""Value of the written policy on contexts that no study has seen, minus that of the best single model.

    nice -n 5 python -m benchmarks.route --data ../shared/data --seeds 3000-3014 --out route.json

Cells are the real grids, drawn as in ``benchmarks.real_grids`` with 20 experiment rows per model, and two studies in
text of known truth: one in which routing by visible words of the prompt pays, one in which it does not. In these, the
policy is compared with the best choice per topic and with one ridge per model on the experiment's outcomes alone. With
``--out`` the measures of each study are stored as soon as it is finished, and a later run continues.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import deconfound as dc
from benchmarks.real_grids import seed_range
from benchmarks.real_grids_studies import PLANS, GridStudy, absent_source, study_source
from benchmarks.route_studies import MODELS, PlantedStudy, make_study
from deconfound.policy_learning import LearnedPolicy, route
from deconfound.policy_learning.distillation import LinearScores
from deconfound.router.model_router import Router
from deconfound.words.phrase_hashing import hash_words
from deconfound.words.word_splitting import tokenize

FloatArray = NDArray[np.float64]
Measures = dict[str, float]
ROWS_PER_MODEL = 20
PLANTED = {"planted-pays": True, "planted-does-not-pay": False}
BUCKETS = 2**10
COLUMNS = {
    "written": "written policy",
    "forced": "router, whether it pays or not",
    "written_over_best": "written, over the truly best single model",
    "oracle": "best model of each prompt",
    "t_learner": "T-learner",
}


def measure(learned: LearnedPolicy, prompts: Sequence[str], models: Sequence[str], q: FloatArray) -> Measures:
    """Mean true outcome of the router and of the written policy on fresh prompts, minus that of the single model."""
    policy, evidence = learned.policy, learned.policy.evidence
    router = Router(policy)
    chosen = [models.index(router.choose(text)) for text in prompts]
    reached = q[np.arange(len(q)), chosen].mean()
    single = q[:, models.index(policy.default)].mean()
    forced = float(reached - single)
    written = forced if evidence.pays else 0.0
    return {
        "forced": forced,
        "written": written,
        "written_over_best": float(single + written - q.mean(axis=0).max()),
        "oracle": float(q.max(axis=1).mean() - single),
        "pays": float(evidence.pays),
        "gain": evidence.gain,
        "low": evidence.gain_low,
        "high": evidence.gain_high,
        "covers": float(evidence.gain_low <= forced <= evidence.gain_high),
        "routed_share": float(np.mean([one != models.index(policy.default) for one in chosen])),
    }


def grid_measures(study: GridStudy) -> Measures:
    loaded = dc.load(log=study.log, experiment=study.first_rows(ROWS_PER_MODEL), replay=study.replay)
    learned = route(loaded, kind="context")
    text_of = dict(zip(study.fresh["context_id"].to_pylist(), study.fresh["context"].to_pylist(), strict=True))
    return measure(learned, [text_of[name] for name in study.fresh_ids], study.models, study.fresh_q)


def planted_measures(seed: int, *, pays: bool) -> Measures:
    study = make_study(seed, pays=pays)
    by_prompt = dc.load(log=study.log, experiment=study.experiment, replay=study.replay)
    learned = route(by_prompt, kind="context")
    measures = measure(learned, study.fresh, MODELS, study.fresh_q)
    single = study.fresh_q[:, MODELS.index(learned.policy.default)].mean()
    return measures | {"t_learner": float(t_learner_value(study) - single)}


def t_learner_value(study: PlantedStudy) -> float:
    """One ridge of the outcomes on the prompt's words per model, from the experiment alone; its largest is chosen."""
    table = study.experiment
    words = np.array([hash_words(tokenize(text), "context", BUCKETS) for text in table["context"].to_pylist()])
    fresh = np.array([hash_words(tokenize(text), "context", BUCKETS) for text in study.fresh])
    outcome, model = table["outcome"].to_numpy(), np.array(table["model"].to_pylist())
    scores = [LinearScores.fit(words[model == name], _contrast(outcome[model == name]))(fresh)[:, 0] for name in MODELS]
    chosen = np.argmax(np.column_stack(scores), axis=1)
    return float(study.fresh_q[np.arange(len(chosen)), chosen].mean())


def _contrast(outcome: FloatArray) -> FloatArray:
    """Two columns with the outcome as their difference, up to scale: the ridge is tuned on differences."""
    return np.column_stack([outcome, -outcome])


def run(given: argparse.Namespace, results: dict[str, dict[str, Measures]]) -> None:
    source = study_source(given.data, None)
    for seed in given.seeds:
        for cell in given.cells:
            by_seed = results.setdefault(cell, {})
            if str(seed) in by_seed:
                continue
            start = time.process_time()
            try:
                is_planted = cell in PLANTED
                found = planted_measures(seed, pays=PLANTED[cell]) if is_planted else grid_measures(source(cell, seed))
            except dc.DeconfoundError as error:
                print(f"{cell}, seed {seed}: refused: {error}", file=sys.stderr, flush=True)
                continue
            by_seed[str(seed)] = found | {"seconds": time.process_time() - start}
            if given.out is not None:
                given.out.write_text(json.dumps(results))
        print(f"seed {seed} is finished", file=sys.stderr, flush=True)


def report(results: dict[str, dict[str, Measures]]) -> None:
    print("cell | studies | pays | interval covers | " + " | ".join(COLUMNS.values()))
    for cell, by_seed in results.items():
        rows = list(by_seed.values())
        numbers = [shown([row[name] for row in rows if name in row]) for name in COLUMNS]
        pays, covers = (np.mean([row[name] for row in rows]) for name in ("pays", "covers"))
        print(f"{cell} | {len(rows)} | {pays:.0%} | {covers:.0%} | {' | '.join(numbers)}")


def shown(values: Sequence[float]) -> str:
    if not values:
        return "-"
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):+.4f} ± {error:.4f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=seed_range, default=range(3000, 3015))
    parser.add_argument("--cells", nargs="+", choices=(*PLANS, *PLANTED), default=[*PLANS, *PLANTED])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    grids = [cell for cell in given.cells if cell in PLANS]
    absent = absent_source(given.data, None, grids, given.seeds)
    if absent is not None:
        print(f"{absent} is absent. Pass the grids with --data, or leave them out with --cells.", file=sys.stderr)
        return 2
    results: dict[str, dict[str, Measures]] = {}
    if given.out is not None and given.out.exists():
        results = json.loads(given.out.read_text())
    run(given, results)
    report(results)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
