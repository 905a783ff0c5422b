"""Every number that decides a verdict, or whether a check can reach one, with its reason.

Settings of the algorithms (ridge penalties, folds, row limits for speed) are in the files of the algorithms.
"""

from __future__ import annotations

# --- from p-values to verdicts ---

FAIL_P_RATIO = 1 / 5
"""Of 1 - level, for a failure instead of a warning: 0.01 where warnings begin at 0.05.

Over all tests of a study together, so with ten to fourteen tests a single one fails below about 0.001, which the
resamples below can still reach. See docs/decisions/0011-multiplicity.md.
"""

RESAMPLES = 1_999  # of a permutation or sign-flip test: the smallest p-value, 1 / 2,000, can fail among 14 tests
MULTINOMIAL_DRAWS = 9_999  # of the sample-ratio test, where a draw costs next to nothing
CLUSTER_PERMUTATIONS = 999  # to find out whether models were drawn by cluster; only a p-value near 0.01 matters
PERMUTATIONS = 999  # of the two-sample test, first round
EXTRA_PERMUTATIONS = 2_000  # second round, for p-values below REFINE_BELOW_P: the smallest is then 1 / 3,000
REFINE_BELOW_P = 0.02

# --- A1: randomization ---

MIN_DRAWS = 10  # assignments below which no pattern could be significant
CLUSTER_DRAW_P = 0.01  # of models repeating within clusters: strict, since below it only one row per cluster is used
FAIL_NONCOMPLIANT_SHARE = 0.05  # of rows that the drawn model did not answer: they can move a value by about as much
UNRELATED_RATIO = 0.5  # of the mismatches that unrelated draws have: with more, another assignment was in force
PROPENSITY_ATOL = 0.005  # declared propensities closer than this are equal, up to printed decimals

# --- A2 and A4: outputs ---

MIN_STRATA = 8  # cells, or rows of either group in a single stratum, below which two groups are not compared
SUPPORT_QUANTILE = 0.99  # of the distances between experiment outputs; a replayed output beyond it is outside
WARN_OUTSIDE_SUPPORT = 0.05  # share of a model's replayed outputs; fewer can hardly move its value
FAIL_OUTSIDE_SUPPORT = 0.5  # most of the model's value is then extrapolated

# --- A3: outcomes ---

MIN_OUTCOME_ROWS = 10  # rows or pairs below which no association could be significant
MIN_CLUSTERS = 10  # their signs flip in 1,024 ways, so that a p-value near 0.001 is just possible
MAX_DISCRETE_VALUES = 11  # yes or no, five stars, zero to ten; on such a scale equal outcomes may be coincidence
MIN_ROWS_PER_VALUE = 3  # on average; with fewer rows a scale is not taken for discrete
MAX_CONFOUNDING_RATIO = 4.0  # how many times rarer confounding may make a value in one source than in the other
SHARE_LIMIT_P = 1e-4  # error probability of the lower confidence limit for the other source's share
MIN_EXACT_MATCHES = 30  # rows with the same context and output; with fewer, context and model are matched instead

# --- A5: overlap with a target ---

MIN_EFFECTIVE_ROWS = 10  # below it a weighted value has no usable precision
FAIL_EFFECTIVE_SHARE = 0.1  # of the experiment: a handful of rows would decide
WARN_EFFECTIVE_SHARE = 0.5  # intervals are then at least 1.4 times as wide
FAIL_TARGET_OUTSIDE = 0.5  # share of the target's contexts outside the experiment's: most of the value is extrapolated
WARN_TARGET_OUTSIDE = 0.1  # ten times the share that lies outside without a shift
MIN_DENSITY_RATIO = 0.25  # mean over the experiment, one under full overlap: below it most of the target is missed
WARN_IMBALANCE = 0.1  # standard deviations left after weighting: a tenth of the outcome's, if it follows that feature
FAIL_IMBALANCE = 0.5  # as much as the shifts that targets are given for

# --- sanity of the tables ---

MIN_CONSTANT_ROWS = 5  # rows of one model with equal outcomes before this is reported
SEGMENT_LEAK_SHARE = 0.8  # of the variance of outcomes between segments: a request seldom decides so much of a rating
LEAK_CORRELATION = 0.999  # of a label with the outcome: beyond it the label is the outcome
SHARED_SHARE_DISCRETE = 0.95  # of the experiment found in the log: on a discrete scale less may be coincidence
FAIL_SHARED_SHARE = 0.01  # of the experiment found in the log: fewer rows are a slip and move values little
