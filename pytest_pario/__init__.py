"""pytest-pario: parallel-I/O regression tests under mpiexec, byte-verified and judged against baselines."""

__version__ = "0.1.0"
