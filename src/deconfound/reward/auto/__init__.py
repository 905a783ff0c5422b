"""The default family: reward and log bias as Gaussian processes, with variances chosen by marginal likelihood."""
