"""Study -> features: hyperparameters, the fitted map, and what it makes of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from deconfound.data import Study
from deconfound.errors import EvidenceError, UsageError
from deconfound.features.blocks import FeatureBlocks, mix
from deconfound.features.labels import read_labels
from deconfound.features.proxy import PROXY_BALANCE, Proxy, fit_proxy
from deconfound.features.raw import Raw, Shape, read_raw
from deconfound.features.rows import longer_texts
from deconfound.features.scaling import Scaling, fit_scaling
from deconfound.features.tokenize import MAX_TEXT
from deconfound.findings import Finding, Notice

FeatureSource: TypeAlias = Literal["text", "columns", "both"]


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """What to see in a row: hyperparameters, to be fitted on a study's log.

    ``source`` chooses hashed text, the ``feature_*`` columns or both. ``surface`` adds the surface statistics wherever
    the study has text; without it the hashed text stands alone. ``components`` bounds the proxy representation and
    ``label_penalty`` is the ridge penalty behind it.
    """

    source: FeatureSource = "text"
    surface: bool = True
    components: int = 20
    buckets: int = 2**18
    label_penalty: float = 3.0

    def __post_init__(self) -> None:
        if self.source not in ("text", "columns", "both"):
            raise UsageError(f'The features must be "text", "columns" or "both", not "{self.source}".')
        for name in ("components", "buckets", "label_penalty"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}.")
        if self.buckets >= 2**31:
            raise UsageError(f"buckets must be below 2^31, not {self.buckets}.")

    def fit(self, study: Study) -> Featurizer:
        """Learn scales and proxy map from the log; of experiment and replay only the lengths of texts are read."""
        return self.fit_transform_log(study)[0]

    def fit_transform_log(self, study: Study) -> tuple[Featurizer, FeatureBlocks]:
        """The featurizer together with the log's features, which fitting has to compute anyway."""
        shape = self._shape(study)
        raw = read_raw(study.log.table, shape)
        scaling = fit_scaling(raw.values, raw.rows.counts, shape.groups) if shape.groups else None
        proxy, findings = self._proxy(study, raw, scaling)
        if shape.reads_text:
            findings = (*_cut_texts(study), *findings)
        featurizer = Featurizer(self, shape, scaling, proxy, findings)
        return featurizer, _blocks(featurizer, raw)

    def _shape(self, study: Study) -> Shape:
        if self.source != "columns" and not study.has_text:
            raise UsageError("The study has no text to hash; use its feature_* columns with --features columns.")
        if self.source != "text" and not study.feature_names:
            raise UsageError("The study has no feature_* columns; use --features text, or add them to all tables.")
        if not study.log.table.num_rows:
            raise EvidenceError("The log has no rows to learn features from.")
        columns = study.feature_names if self.source != "text" else ()
        return Shape(self.buckets if self.source != "columns" else 0, self.surface and study.has_text, columns)

    def _proxy(self, study: Study, raw: Raw, scaling: Scaling | None) -> tuple[Proxy | None, tuple[Finding, ...]]:
        labels = read_labels(study.log.table, study.label_names, raw.rows)
        if not labels.names:
            return None, labels.findings
        dense = None if scaling is None else scaling.standardise(raw.values) * scaling.weight
        phi = mix(raw.text, dense, PROXY_BALANCE)
        return fit_proxy(phi, labels, raw.rows.counts, self.components, self.label_penalty), labels.findings


@dataclass(frozen=True, slots=True)
class Featurizer:
    """A fitted map from tables to features; a text gets the same bits in every table, also after reloading."""

    spec: FeatureSpec
    shape: Shape
    scaling: Scaling | None
    proxy: Proxy | None
    findings: tuple[Finding, ...]

    @property
    def psi_source(self) -> str:
        """What psi is made of, in a few words for the report."""
        kinds = (("labels", self.proxy), ("surface", self.shape.surface), ("columns", self.shape.columns))
        parts = [name for name, there in kinds if there]
        if len(parts) < 2:
            return parts[0] if parts else "none"
        return f"{', '.join(parts[:-1])} and {parts[-1]}"

    def blocks(self, table: pa.Table) -> FeatureBlocks:
        """The features of any table with the columns that the featurizer was fitted on."""
        return _blocks(self, read_raw(table, self.shape))

    def save(self, directory: Path | str) -> None:
        """Write ``featurizer.json`` and ``featurizer.npz``."""
        from deconfound.features.featurizer_io import save

        save(self, Path(directory))

    @staticmethod
    def load(directory: Path | str) -> Featurizer:
        """Read what ``save`` wrote."""
        from deconfound.features.featurizer_io import load

        return load(Path(directory))


def _blocks(featurizer: Featurizer, raw: Raw) -> FeatureBlocks:
    scaling = featurizer.scaling
    standard = None if scaling is None else scaling.standardise(raw.values)
    dense = None if scaling is None or standard is None else standard * scaling.weight
    components = None if featurizer.proxy is None else featurizer.proxy(raw.text, dense)
    psi = [part for part in (components, standard) if part is not None]
    return FeatureBlocks(raw.rows.pair, raw.text, dense, np.hstack(psi) if psi else None)


def _cut_texts(study: Study) -> tuple[Finding, ...]:
    counts = {source.role: longer_texts(source.table) for source in (study.log, study.experiment, study.replay)}
    if not any(counts.values()):
        return ()
    places = ", ".join(f"{count} in the {role}" for role, count in counts.items() if count)
    message = f"Texts longer than {MAX_TEXT:,} characters are looked at only up to there: {places}."
    return (
        Finding("long texts", "warn", Notice(message, "Shorten them yourself if what matters stands further back.")),
    )
