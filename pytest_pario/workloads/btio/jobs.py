"""What compiled loops are told of a cell: records of integers, addresses and distances in bytes. Pure."""

from __future__ import annotations

import numpy as np

WIDTH = 8
"""Doubles of a vector: so many lines, or neighbours of a row, are worked on at a time."""
VECTOR_BYTES = 8 * WIDTH
KEPT = 30
"""Vectors that the forward sweep leaves of a row: 25 of C', 5 of y."""
ROW_BYTES = KEPT * VECTOR_BYTES

CELL = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("u", "u_component", "u_pitch", "u_plane"),
            *("rhs", "rhs_component", "rhs_pitch", "rhs_plane"),
            *("forcing", "scale", "weights_x", "apart_x", "weights_y", "weights_z", "numbers"),
            *("chunks", "first_y", "last_y", "ny", "nz"),
        )
    ]
)
"""A cell as a whole: u and rhs begin at its first point; chunks are vectors of a row; y runs over interior rows."""

LINE = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("u", "u_component", "u_step", "u_outer", "u_inner"),
            *("rhs", "rhs_component", "rhs_step", "rhs_outer", "rhs_inner"),
            *("normal", "second", "third", "chunks", "lines", "points"),
            *("first", "last", "first_outer"),
            *(
                "kept",
                "kept_tile",
                "entry",
                "entry_tile",
                "exit",
                "exit_tile",
                "after",
                "turned",
                "turned_rhs",
                "numbers",
            ),
        )
    ]
)
"""The lines of a cell along one direction.

`step` leads along a line, `outer` and `inner` (the latter in vectors, or rows for x) across it; `normal`, `second` and
`third` are the momenta; rows `first` to `last` - 1 are solved for. Rows are kept at `kept`, but the row before the
first one is at `entry`, and the last one is kept at `exit`, each with so many bytes for each eight lines (0 where eight
lines are done with before the next begin). `after` is where the backward sweep finds the five vectors of the row after
the last, and leaves those of the first.
"""
