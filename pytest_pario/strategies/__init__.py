"""Collective I/O schemes over MPI: protocol, and one file per strategy."""
