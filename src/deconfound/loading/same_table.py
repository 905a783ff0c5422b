"""Whether the log and the experiment are one table."""

from __future__ import annotations

import os

from deconfound.errors import DataError, Problem
from deconfound.loading.reading_rules import ReadingRules
from deconfound.loading.sources import TableLike, source_name
from deconfound.loading.table_files import find_files, is_path


def same_table_problems(log: TableLike, experiment: TableLike, rules: ReadingRules) -> list[Problem]:
    """One table cannot be both, unless conditions say which of its rows are which."""
    scopes = {condition.scope for condition in rules.filters}
    if not share_a_file(log, experiment) or {"log", "experiment"} <= scopes:
        return []
    what = "the log and the experiment are the same table"
    fix = "Put the randomized rows into a table of their own, or choose rows with --where log.COLUMN=… and "
    return [Problem(source_name(log, "log"), what, f"{fix}--where experiment.COLUMN=….")]


def share_a_file(log: TableLike, experiment: TableLike) -> bool:
    """Whether two sources are one object, or have a file in common, by a link of any kind."""
    if log is experiment:
        return True
    if not (is_path(log) and is_path(experiment)):
        return False
    try:
        places = [{os.path.realpath(file) for file in find_files(source)} for source in (log, experiment)]
        files = [{(stat.st_dev, stat.st_ino) for stat in map(os.stat, found)} for found in places]
    except (DataError, OSError):
        return bool(log == experiment)  # what is missing is reported when it is read
    return bool(places[0] & places[1] or files[0] & files[1])
