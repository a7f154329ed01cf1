"""The benchmarks of MPI-IO/GPFS: contiguous, discontiguous, partitioning, access ranges, strided, random records."""
