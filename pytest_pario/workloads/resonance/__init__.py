"""The benchmarks of resonant I/O: programs as rows, strategies compared, an emulated store (RES-29..41)."""
