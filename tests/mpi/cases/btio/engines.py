"""NumPy and compiled code on several tasks: the same state but for rounding."""

import numpy as np
from stage import COMM, tell

from pytest_pario.workloads.btio.classes import find_class
from pytest_pario.workloads.btio.solver import Solver

states = []
for engine in ("numpy", "compiled"):
    solver = Solver(find_class("S"), COMM, engine)
    solver.warm_up()
    for _ in range(3):
        solver.step()
    flat = np.empty(5 * solver.partition.points)
    solver.pack(flat)
    states.append(flat)
tell(deviation=float(np.abs(states[1] / states[0] - 1).max()))
