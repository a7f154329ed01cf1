"""BT and BTIO of the NAS Parallel Benchmarks: an implicit flow solver that writes its solution every few steps."""
