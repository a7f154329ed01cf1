"""Everything that touches a file: the collective guard, tracing, and later the executor."""
