"""The pass over a long log on an engine: parts are summed by workers, and their sums are merged in the order of parts.

Which parts are summed together follows from the parts alone. So every engine adds the same numbers in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from deconfound.data import LogPart, LogStream
from deconfound.engines import EngineOptions, Payload, Task, map_in_order, open_engine
from deconfound.engines.plain_data import from_bytes, to_bytes
from deconfound.features.log_pass import LogPass, require_all_rows
from deconfound.features.log_statistics import LogStatistics
from deconfound.progress import Progress, StreamMeter

GROUP_BYTES = 1 << 27
"""Parts are summed together up to this size: the sums of a part can be as large as a hundred megabytes themselves."""

Group = tuple[int, int]  # the first part, and the one after the last


def run_pass(
    log_pass: LogPass, stream: LogStream, progress: Progress, options: EngineOptions | None = None
) -> LogStatistics:
    """The statistics of all parts; without options, in this process."""
    meter = StreamMeter(progress, "summing the log", stream.rows)
    options = options or EngineOptions()
    sums = _sum_here if options.uses_this_thread else _sum_on_engine
    statistics = reduce(LogStatistics.merge, sums(log_pass, stream, meter, options), log_pass.zero())
    require_all_rows(statistics, stream)
    return statistics


def _sum_here(
    log_pass: LogPass,
    stream: LogStream,
    meter: StreamMeter,
    options: EngineOptions,  # noqa: ARG001
) -> Iterator[LogStatistics]:
    for first, last in group_parts(stream.parts):
        yield log_pass.summarize(stream.parts[first:last], meter)


def _sum_on_engine(
    log_pass: LogPass, stream: LogStream, meter: StreamMeter, options: EngineOptions
) -> Iterator[LogStatistics]:
    groups = group_parts(stream.parts)
    task = Task(__name__, open_pass.__name__, to_bytes((log_pass, stream.parts)))
    payloads = (Payload(stream.parts[group[0]].name, json.dumps(group).encode()) for group in groups)
    with open_engine(options) as engine:
        for group, content in zip(groups, map_in_order(engine, task, payloads), strict=True):
            statistics = LogStatistics.from_bytes(content, log_pass.models, log_pass.folds)
            size = sum(part.size for part in stream.parts[group[0] : group[1]])
            meter.add(statistics.rows, size, statistics.rows)
            yield statistics


def open_pass(shared: bytes) -> Callable[[bytes], bytes]:
    """The task of a worker: from the numbers of some parts to their statistics."""
    log_pass, parts = from_bytes(shared)

    def run(content: bytes) -> bytes:
        first, last = json.loads(content)
        statistics: LogStatistics = log_pass.summarize(parts[first:last])
        return statistics.to_bytes()

    return run


def group_parts(parts: Sequence[LogPart]) -> list[Group]:
    """Consecutive parts that together reach ``GROUP_BYTES``."""
    groups, first, size = list[Group](), 0, 0
    for at, part in enumerate(parts):
        size += part.size
        if size >= GROUP_BYTES or at == len(parts) - 1:
            groups.append((first, at + 1))
            first, size = at + 1, 0
    return groups
