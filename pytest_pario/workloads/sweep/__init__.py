"""Hint sweeps: a matrix of hints crossed with patterns, and what is recommended from it."""
