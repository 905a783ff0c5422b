"""Every assumption of the theorem, checked on one study."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from deconfound.data import Study
from deconfound.diagnose.alignment import alignment
from deconfound.diagnose.consistency import consistency
from deconfound.diagnose.hidden_path import hidden_path
from deconfound.diagnose.randomization import randomization
from deconfound.diagnose.replay_validity import replay_validity
from deconfound.diagnose.sanity import sanity
from deconfound.errors import UsageError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.linalg import one_blas_thread
from deconfound.progress import Progress, no_progress


def check(
    study: Study,
    *,
    seed: int = 0,
    level: float = 0.95,
    target: pa.Table | None = None,
    material: StudyArrays | None = None,
    progress: Progress = no_progress,
) -> tuple[Finding, ...]:
    """What the data say about A1 to A5 and about themselves; what was noticed on loading stays in ``study.findings``.

    A test warns where luck alone would do so in less than 1 - level of sound studies. ``target`` holds the contexts
    for which the values are wanted, if not the experiment's; ``material`` spares featurizing the study again.
    """
    if not 0.0 < level < 1.0:
        raise UsageError(f"level must lie strictly between 0 and 1, not {level!r}.")
    if material is None:
        progress("reading texts", 0.0)
        material = StudyArrays.from_study(study, FeatureSpec())
    known = material
    stages: tuple[tuple[str, Callable[[], tuple[Finding, ...]]], ...] = (
        ("looking for constants, copies and leaks", lambda: sanity(study)),
        ("checking the draw of the models", lambda: randomization(study, seed, level)),
        ("checking the replay", lambda: replay_validity(known, seed, level)),
        ("checking the outcomes", lambda: consistency(study, known, seed, level)),
        ("checking the log's outputs", lambda: hidden_path(known, study, seed, level)),
        ("checking the contexts", lambda: alignment(known, study, target, seed, level)),
    )
    findings: list[Finding] = []
    with one_blas_thread():
        for number, (stage, run) in enumerate(stages):
            progress(stage, number / len(stages))
            findings += run()
    return tuple(findings)
