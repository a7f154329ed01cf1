"""The parallel effective I/O bandwidth benchmark, b_eff_io, releases 1.x and 2.0 (BEFF-01..68)."""
