"""A discrete-event model of striped storage and of the programs that use it (SIM-01..15).

Deterministic by seed, without a clock of its own: what it says of a machine follows from its parameters alone.
"""
