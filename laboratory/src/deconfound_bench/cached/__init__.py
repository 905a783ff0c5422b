"""Benchmarks on a cached grid of real outputs; users, their choices and the sampling of rows are simulated."""
