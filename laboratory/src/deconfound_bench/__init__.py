"""The benchmarks behind deconfound, with known or cached ground truth, and a resumable runner for them."""
