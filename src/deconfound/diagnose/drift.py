"""Do outcomes of the same model move while a table is collected?"""

from __future__ import annotations

import numpy as np

from deconfound.data import Table
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.smoothing import Smoother, exchanging, p_value, within
from deconfound.diagnose.timeline import timeline, waves
from deconfound.diagnose.verdicts import shown, warned
from deconfound.findings import Finding

FEWEST_ROWS = 10  # fewer rows cannot show a trend
FEWEST_CLUSTERS = 10  # whose signs can be flipped in 1,024 ways: a p-value near 0.001 is just possible
MOST_ROWS = 5_000  # a table's rows looked at; of more, whole clusters are sampled
TIME_PENALTY = 1e-3  # of n: the waves are orthogonal, so next to none is needed


def drift(table: Table, seed: int, level: float) -> Finding:
    """Whether outcomes of the same model moved over time."""
    name = f"outcome over time ({table.role})"
    if "time" not in table.arrow.column_names:
        message = f"{table.source} has no time column, so a change of the outcomes on the way goes unseen."
        return Finding(name, "cannot tell", message, "Add when each row happened (a column `time`).", assumption="A3")
    _, model = encode(table.arrow["model"], None)
    _, cluster = encode(table.arrow["cluster" if "cluster" in table.arrow.column_names else "context_id"], None)
    rows = _some(cluster, np.random.default_rng(seed))
    outcome, time = (table.arrow[column].to_numpy()[rows] for column in ("outcome", "time"))
    model, cluster = model[rows], cluster[rows]
    if len(rows) < FEWEST_ROWS or len(np.unique(cluster)) < FEWEST_CLUSTERS or len(np.unique(time)) < 2:
        message = f"{table.source} has too few rows, clusters or times to see a drift."
        return Finding(name, "cannot tell", message, "Collect more rows.", assumption="A3")
    p = drift_p_value(outcome, time, model, cluster, seed)
    found = warned(p, level)
    if found == "pass":
        return Finding(name, found, f"Outcomes of the same model held still over time ({shown(p)}).", "", p, "A3")
    early, residual = timeline(time) < 0.5, within(outcome[:, None], model)[:, 0]
    moved = residual[~early].mean() - residual[early].mean()
    message = (
        f"Outcomes of the same model moved over time ({moved:+.3f} from the first half to the second, {shown(p)}): the"
        " values are averages over a changing period."
    )
    remedy = "Find out what changed (users, rubric, judge, the model behind a name); keep only what is still true."
    return Finding(name, found, message, remedy, p, "A3")


def drift_p_value(outcome: FloatArray, time: FloatArray, model: IntArray, cluster: IntArray, seed: int) -> float:
    """How often luck would let time predict the outcome within models as well as it does."""
    target = within(outcome[:, None], model)
    smoother = Smoother.of(within(waves(time), model), TIME_PENALTY * len(time))
    return p_value([smoother], target, exchanging(target, model, cluster), np.random.default_rng(seed))


def _some(cluster: IntArray, rng: np.random.Generator) -> IntArray:
    """All rows, or those of randomly chosen clusters where there are more than ``MOST_ROWS``."""
    place = rng.permutation(int(cluster.max()) + 1)[cluster]
    order = np.argsort(place, kind="stable")
    last = place[order[min(MOST_ROWS, len(order)) - 1]]
    return np.flatnonzero(place <= last)
