"""Benchmarks on a cached grid of real outputs: every model's output on every context, judged once."""
