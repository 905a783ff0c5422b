"""The default family: reward and log bias as Gaussian processes, sized by marginal likelihood."""
