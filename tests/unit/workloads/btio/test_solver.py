"""The solver against known values on the way, and against the published norms at the end."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pytest_pario.access.loops import compiling
from pytest_pario.errors import ParameterError
from pytest_pario.workloads.btio import engine as engines
from pytest_pario.workloads.btio.classes import COMPONENTS, EPSILON, ProblemClass, find_class
from pytest_pario.workloads.btio.engine import choose_engine
from pytest_pario.workloads.btio.exact import Floats, exact_solution, initial_plane
from pytest_pario.workloads.btio.marks import Marker
from pytest_pario.workloads.btio.solver import Solver, norms
from tests.unit.workloads.btio import vectors

SMALL = find_class("S")
EVERYWHERE = slice(None)


@pytest.fixture(params=["numpy", "compiled"])
def engine(request: pytest.FixtureRequest) -> str:
    reason = compiling.numba_missing_reason()
    if request.param == "compiled" and reason is not None:
        pytest.skip(reason)
    return str(request.param)


def error_norms(solver: Solver) -> Floats:
    flat = np.empty(COMPONENTS * solver.partition.points)
    solver.pack(flat)
    return norms(Marker(solver.problem, solver.partition).mark(flat).sums, solver.problem)


def at(array: Floats, point: tuple[int, int, int]) -> Floats:
    i, j, k = point
    return array[:COMPONENTS, k, j, i]


@pytest.mark.parametrize("point", vectors.POINTS)
def test_exact_and_initial_state(point: tuple[int, int, int]) -> None:
    exact, initial, _ = vectors.POINTS[point]
    i, j, k = point
    solution = exact_solution(SMALL.size)
    assert solution.plane(k)[j, i] == pytest.approx(exact, rel=1e-12)
    assert initial_plane(solution, k, EVERYWHERE, EVERYWHERE)[j, i] == pytest.approx(initial, rel=1e-12)
    assert np.array_equal(initial_plane(solution, k, slice(j, j + 1), slice(i, i + 1))[0, 0],
                          initial_plane(solution, k, EVERYWHERE, EVERYWHERE)[j, i])  # fmt: skip


def test_the_first_step_in_parts(engine: str) -> None:
    solver = Solver(SMALL, engine=engine)
    cell, worker = solver.cells[0], solver.engines[0]
    for point, (_, _, forcing) in vectors.POINTS.items():
        assert at(cell.forcing, point) == pytest.approx(forcing, rel=1e-11)
    solver.start()
    assert error_norms(solver) == pytest.approx(vectors.ERROR_NORMS[0], rel=1e-12)
    assert norms(solver.residual_sums(), SMALL) == pytest.approx(vectors.RESIDUAL_NORMS, rel=1e-12)
    worker.make_rhs()
    assert at(cell.rhs, (5, 6, 7)) == pytest.approx(vectors.FIRST_RHS, rel=1e-12)
    for axis, (value, rms) in enumerate(vectors.AFTER):
        worker.sweep(axis, worker.outer(axis))
        assert at(cell.rhs, (5, 6, 7)) == pytest.approx(value, rel=1e-10)
        assert norms((cell.rhs**2).sum(axis=(1, 2, 3)), SMALL) == pytest.approx(rms, rel=1e-12)


def test_the_first_five_steps(engine: str) -> None:
    solver = Solver(SMALL, engine=engine)
    solver.warm_up()
    for expected in vectors.ERROR_NORMS[1:]:
        solver.step()
        assert error_norms(solver) == pytest.approx(expected, rel=1e-12)
    assert at(solver.cells[0].u, (5, 6, 7)) == pytest.approx(vectors.LATER, rel=1e-12)


# class W takes NumPy ten seconds; its arithmetic is the same as in class S
@pytest.mark.parametrize(("name", "kind"), [("S", "numpy"), ("S", "compiled"), ("W", "compiled")])
def test_published_norms(name: str, kind: str) -> None:
    reason = compiling.numba_missing_reason()
    if kind == "compiled" and reason is not None:
        pytest.skip(reason)
    solver = Solver(find_class(name), engine=kind)
    solver.warm_up()
    for _ in range(solver.problem.steps):
        solver.step()
    assert error_norms(solver) == pytest.approx(solver.problem.error, rel=EPSILON)
    assert norms(solver.residual_sums(), solver.problem) == pytest.approx(solver.problem.residual, rel=EPSILON)


def test_boundaries_never_change(engine: str) -> None:
    solver = Solver(SMALL, engine=engine)
    solver.start()
    before = solver.cells[0].u[:COMPONENTS].copy()
    solver.step()
    change = solver.cells[0].u[:COMPONENTS] - before
    assert (change[:, 1:-1, 1:-1, 1:-1] != 0).all()
    change[:, 1:-1, 1:-1, 1:-1] = 0
    assert not change.any()


def test_a_step_is_repeatable_to_the_bit(engine: str) -> None:
    states = []
    for _ in range(2):
        solver = Solver(SMALL, engine=engine)
        solver.warm_up()
        solver.step()
        states.append(solver.cells[0].u.copy())
    assert np.array_equal(states[0], states[1])


def test_packing_is_component_fastest(engine: str) -> None:
    solver = Solver(SMALL, engine=engine)
    solver.start()
    flat = np.empty(COMPONENTS * SMALL.size**3)
    solver.pack(flat)
    i, j, k = 5, 6, 7
    place = COMPONENTS * (i + SMALL.size * (j + SMALL.size * k))
    assert flat[place : place + 5] == pytest.approx(vectors.POINTS[i, j, k][1], rel=1e-12)
    kept = solver.cells[0].u.copy()
    solver.cells[0].u[...] = 1
    solver.unpack(flat)
    assert np.array_equal(solver.cells[0].u, kept)


@pytest.mark.parametrize("engine", ["auto", "numpy"])
def test_memory_is_below_twice_the_reference(engine: str) -> None:
    # the reference holds 46 doubles per point: u, rhs, forcing, 6 auxiliary fields and the 25 of C'
    problem = find_class("W")
    solver = Solver(problem, None, engine)
    solver.warm_up()
    assert 2 * COMPONENTS * 8 * problem.size**3 < solver.memory_bytes < 2 * 46 * 8 * problem.size**3


def test_the_fallback_is_taken_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "numba_missing_reason", lambda: "no compiler today")
    assert Solver(SMALL).engine_name == "numpy"
    with pytest.raises(ParameterError, match=r"engine = 'compiled'.*no compiler today"):
        choose_engine("compiled")
    with pytest.raises(ParameterError, match=r"engine = 'fortran'.*auto or one of compiled, numpy"):
        choose_engine("fortran")


def test_an_odd_grid_is_solved_alike_by_both(engine: str) -> None:
    # 13 points: rows do not fill whole vectors
    problem = ProblemClass("odd", 13, 0.01, 3, SMALL.residual, SMALL.error, None)
    states = []
    for one in ("numpy", engine):
        solver = Solver(problem, engine=one)
        solver.warm_up()
        for _ in range(problem.steps):
            solver.step()
        states.append(solver.cells[0].u[:COMPONENTS].copy())
    np.testing.assert_allclose(states[1], states[0], rtol=1e-11)


@pytest.mark.parametrize("name", ["make_rhs", "sweep_across", "sweep_along"])
def test_the_arithmetic_is_vector_code(name: str) -> None:
    """What a compiler does not vectorise is not wrong, only eight times slower: so it is looked at."""
    reason = compiling.numba_missing_reason()
    if reason is not None:
        pytest.skip(reason)
    from pytest_pario.workloads.btio import kernels

    # code from the cache has no listing
    compiled = compiling._compile(getattr(kernels, name), kernels.SIGNATURES[name], cache=False)
    code = "".join(compiled.inspect_asm().values())  # type: ignore[attr-defined]
    packed, single = (
        len(re.findall(rf"\bv?(?:fn?m(?:add|sub)\w*|mul|add|sub|div){end}\b", code)) for end in ("pd", "sd")
    )
    if not packed + single:
        pytest.skip("not an x86 processor")
    assert packed > 20 * single, (packed, single)
