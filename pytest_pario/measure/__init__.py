"""The clock and what is done around it: rounds, and later cache states."""
