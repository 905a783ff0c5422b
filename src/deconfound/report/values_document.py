"""Values in JSON: a table for readers, and every field to read them back."""

from __future__ import annotations

from typing import Any

import numpy as np

from deconfound.design import FloatArray
from deconfound.formatting import to_jsonable
from deconfound.value import Values


def values_document(values: Values, level: float) -> dict[str, Any]:
    """Values as a table, and with their covariance."""
    document: dict[str, Any] = to_jsonable(
        {
            "method": values.method,
            "table": values.table(level),
            "estimate": values.estimate,
            "covariance": values.covariance,
            "df": values.df,
            "difference_df_limit": values.difference_df_limit,
            "binomial_variance": values.binomial_variance,
            "independent_rows": values.independent_rows,
            "interval_center": values.interval_center,
            "posterior_covariance": values.posterior_covariance,
            "reward_weight": values.reward_weight,
            "shrinkage_fraction": values.shrinkage_fraction,
            "cost": values.cost,
        }
    )
    return document


def read_values(stored: dict[str, Any], models: tuple[str, ...]) -> Values:
    """The inverse of ``values_document``."""
    optional = {"df": np.inf, "binomial_variance": np.nan, "interval_center": np.nan, "posterior_covariance": np.inf}
    optional |= {"difference_df_limit": np.inf, "independent_rows": np.nan, "reward_weight": np.nan, "cost": np.nan}
    return Values(
        models,
        estimate=number_array(stored["estimate"], np.nan),
        covariance=number_array(stored["covariance"], np.inf),
        method=stored["method"],
        shrinkage_fraction=stored["shrinkage_fraction"],
        **{name: None if stored[name] is None else number_array(stored[name], null) for name, null in optional.items()},
    )


def number_array(stored: list[Any], null: float) -> FloatArray:
    """An array of numbers in which null has this value."""
    filled = [number_array(row, null) if isinstance(row, list) else null if row is None else row for row in stored]
    if not all(isinstance(one, np.ndarray | int | float) and not isinstance(one, bool) for one in filled):
        raise TypeError("text or true stands where a number belongs")
    return np.array(filled, dtype=np.float64)
