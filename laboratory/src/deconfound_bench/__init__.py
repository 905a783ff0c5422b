"""Semi-synthetic and cached benchmarks, and the machine that runs them."""
