"""The compiled loop does not work on the last task: all take the Python loop; asked for by name, all are told."""

from stage import COMM, LAST, tell

from pytest_pario.access.loops import choose_loop
from pytest_pario.access.loops.compiled import CompiledMember
from pytest_pario.errors import ParameterError

if LAST:
    CompiledMember.unavailable_reason = lambda *_: "no compiler today"
chosen = choose_loop("auto", comm=COMM)
try:
    choose_loop("compiled", comm=COMM)
except ParameterError as error:
    tell(loop=chosen.name, told=str(error))
