"""The suite of the Parallel I/O Benchmarking Consortium (CONS)."""
