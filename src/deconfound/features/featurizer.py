"""Study -> features: the specification, the fitted map, and the features of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from deconfound.data import Log, Table
from deconfound.design import feature_matrix
from deconfound.errors import EvidenceError, UsageError
from deconfound.features.blocks import FeatureBlocks, Scaling, combine_blocks, fit_scaling
from deconfound.features.distinct_rows import (
    BlockLayout,
    ExtractedFeatures,
    count_truncated_texts,
    distinct_rows,
    extract_features,
)
from deconfound.features.proxy import PROXY_SURFACE_SHARE, ProxyMap, average_labels, fit_proxy
from deconfound.findings import Finding, Notice
from deconfound.formatting import quote
from deconfound.words.word_splitting import MAX_CHARACTERS

FeatureSource: TypeAlias = Literal["text", "columns", "both"]

FEATURE_SOURCES: tuple[FeatureSource, ...] = ("text", "columns", "both")
MAX_BUCKETS = 2**31  # columns of the hashed text are numbered in 32 bits


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """Which features to use: hyperparameters, fitted on a study's log.

    ``source`` selects hashed text, the ``feature_*`` columns or both; by default text if the study has it, otherwise
    columns. ``surface`` adds the surface statistics if the study has text. ``components`` is the largest number of
    proxy components, and ``label_penalty`` the ridge penalty of the regression behind them.
    """

    source: FeatureSource | None = None
    surface: bool = True
    components: int = 20
    buckets: int = 2**18
    label_penalty: float = 3.0

    def __post_init__(self) -> None:
        if self.source is not None and self.source not in FEATURE_SOURCES:
            raise UsageError(f'source must be "text", "columns" or "both", not {quote(self.source)}.')
        for name in ("components", "buckets", "label_penalty"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}.")
        if self.buckets >= MAX_BUCKETS:
            raise UsageError(f"buckets must be below 2^31, not {self.buckets}.")

    def fit(self, log: Log, other_tables: Sequence[Table] = ()) -> Featurizer:
        """Fit scales and proxy map on the log.

        Nothing is learned from ``other_tables``; a finding reports texts in them that are too long to be read whole.
        """
        return self.fit_transform_log(log, other_tables)[0]

    def fit_transform_log(self, log: Log, other_tables: Sequence[Table] = ()) -> tuple[Featurizer, FeatureBlocks]:
        """The fitted featurizer and the log's features, which fitting computes anyway."""
        scaled, extracted = self.fit_scales(log, other_tables)
        featurizer = scaled.with_proxy_of_rows(log, extracted)
        return featurizer, featurizer.to_blocks(extracted)

    def layout_of(self, log: Log) -> BlockLayout:
        """The blocks of features that a table like this log gets."""
        return self._resolve(log)._layout(log)

    def count_distinct(self, log: Log) -> int:
        """Number of log rows that differ in their features."""
        layout = self.layout_of(log)
        return len(distinct_rows(log.arrow, layout.reads_text, layout.columns).first_row)

    def fit_scales(self, log: Log, other_tables: Sequence[Table] = ()) -> tuple[Featurizer, ExtractedFeatures]:
        """A featurizer without proxies, and the log's features before scaling."""
        spec = self._resolve(log)
        layout = spec._layout(log)
        extracted = extract_features(log.arrow, layout)
        widths = layout.block_widths
        scaling = fit_scaling(extracted.values, extracted.rows.counts, widths) if widths else None
        modifier_scaling = fit_scaling(extracted.modifiers, extracted.rows.counts, layout.modifier_widths)
        findings = _truncation_findings((log, *other_tables)) if layout.reads_text else ()
        return Featurizer(spec, layout, scaling, modifier_scaling, None, findings), extracted

    def _resolve(self, log: Log) -> FeatureSpec:
        """The same specification with a definite source that the log has."""
        source = self.source or ("text" if log.has_text else "columns")
        if source != "columns" and not log.has_text:
            raise UsageError(
                f"{log.source} has no text to hash. "
                'Use its feature_* columns: --features columns, or FeatureSpec(source="columns").'
            )
        if source != "text" and not log.columns_with_prefix("feature_"):
            raise UsageError(
                f"{log.source} has no feature_* columns. "
                'Add them to all tables, or use the text: --features text, or FeatureSpec(source="text").'
            )
        if not len(log):
            raise EvidenceError(f"{log.source} has no rows to fit features on. Add logged rows.")
        return replace(self, source=source)

    def _layout(self, log: Log) -> BlockLayout:
        columns = log.columns_with_prefix("feature_") if self.source != "text" else ()
        return BlockLayout(self.buckets if self.source != "columns" else 0, self.surface and log.has_text, columns)


@dataclass(frozen=True, slots=True)
class Featurizer:
    """A fitted map from tables to features; a text gets the same bits in every table, also after reloading."""

    spec: FeatureSpec
    layout: BlockLayout
    scaling: Scaling | None
    modifier_scaling: Scaling
    proxy: ProxyMap | None
    findings: tuple[Finding, ...]

    @property
    def psi_source(self) -> str:
        """The parts of psi, in a few words for the report."""
        kinds = (("labels", self.proxy), ("surface", self.layout.surface), ("columns", self.layout.columns))
        parts = [name for name, present in kinds if present]
        if len(parts) < 2:
            return parts[0] if parts else "none"
        return f"{', '.join(parts[:-1])} and {parts[-1]}"

    def blocks(self, table: pa.Table) -> FeatureBlocks:
        """The features of any table with the columns that the featurizer was fitted on."""
        return self.to_blocks(extract_features(table, self.layout))

    def to_blocks(self, extracted: ExtractedFeatures) -> FeatureBlocks:
        """Scale features, and add those that are learned from labels."""
        scaling = self.scaling
        standardized = None if scaling is None else scaling.standardize(extracted.values)
        dense = None if scaling is None or standardized is None else standardized * scaling.weight
        components = None if self.proxy is None else self.proxy(extracted.text, dense)
        psi = [part for part in (components, standardized) if part is not None]
        modifiers = self.modifier_scaling.standardize(extracted.modifiers) * self.modifier_scaling.weight
        parts = np.hstack(psi) if psi else None
        return FeatureBlocks(extracted.rows.row_index, extracted.text, dense, parts, modifiers)

    def with_proxy_of_rows(self, log: Log, extracted: ExtractedFeatures) -> Featurizer:
        """The featurizer with the proxy map of these rows and their labels, and findings about labels."""
        labels = average_labels(log.arrow, log.columns_with_prefix("label_"), extracted.rows)
        with_findings = replace(self, findings=(*self.findings, *labels.findings))
        if not labels.names:
            return with_findings
        dense = None if self.scaling is None else self.scaling.standardize(extracted.values) * self.scaling.weight
        phi = feature_matrix(combine_blocks(extracted.text, dense, PROXY_SURFACE_SHARE))
        proxy = fit_proxy(phi, labels, extracted.rows.counts, self.spec.components, self.spec.label_penalty)
        return replace(with_findings, proxy=proxy)


def _truncation_findings(tables: Sequence[Table]) -> tuple[Finding, ...]:
    counts = {table.role: count_truncated_texts(table.arrow) for table in tables}
    if not any(counts.values()):
        return ()
    places = ", ".join(f"{count:,} in the {role}" for role, count in counts.items() if count)
    message = f"Texts are read up to {MAX_CHARACTERS:,} characters; longer ones: {places}."
    return (Finding("long texts", "warn", Notice(message, "Shorten them if the important part comes later.")),)
