"""What is run: patterns by the general runner, and the benchmarks with rules of their own."""
