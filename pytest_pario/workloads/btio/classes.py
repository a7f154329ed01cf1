"""The problem classes: grid, time step, number of steps, and the values that a right run comes to (BT §1, §8, §9.4)."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_pario.errors import ParameterError

COMPONENTS = 5
"""Density, momentum in x, y and z, total energy."""
POINT_BYTES = 8 * COMPONENTS
EPSILON = 1e-8
"""Largest relative deviation from a reference value."""

Five = tuple[float, float, float, float, float]


@dataclass(frozen=True)
class ProblemClass:
    """A cube of points and so many steps in time."""

    name: str
    size: int
    """Points in each direction, boundaries included."""
    dt: float
    steps: int
    residual: Five
    """Norms of the residual after the last step."""
    error: Five
    """Norms of the deviation from the exact solution after the last step."""
    delta: Five | None
    """Mean over all fields written of the norms of the deviation; None where nobody has published it."""
    interval: int = 5
    """A field is written every so many steps, and after the last one."""

    @property
    def fields(self) -> int:
        """Fields that a run writes."""
        return -(-self.steps // self.interval)

    @property
    def field_bytes(self) -> int:
        """Bytes of one field."""
        return POINT_BYTES * self.size**3

    @property
    def total_bytes(self) -> int:
        """Bytes of all fields."""
        return self.fields * self.field_bytes

    @property
    def interior(self) -> int:
        """Points that are solved for."""
        return (self.size - 2) ** 3

    @property
    def flops(self) -> float:
        """Operations of a run as the benchmark counts them."""
        # F(N) = 3478.8 N^3 - 17655.7 N^2 + 28023.7 N, the literals in single precision
        n = self.size
        return self.steps * (3478.80004883 * n**3 - 17655.69921875 * n**2 + 28023.69921875 * n)

    @property
    def most_per_edge(self) -> int:
        """Cells along an edge that still have the three points that the stencil needs."""
        return self.size // 3


# fmt: off
# Each: residual, error, and mean of the error over all fields.
ROWS = (
    ProblemClass("S", 12, 0.01, 60,
        (0.17034283709541312, 0.012975252070034096, 0.032527926989486054, 0.0264364212751668, 0.1921178413174443),
        (4.997691334581158e-4, 4.519566678296193e-5, 7.397376517292135e-5, 7.382123863243973e-5, 8.926963098749145e-4),
        (11.49036328945, 0.9156788904727, 2.857899428614, 2.598273346734, 26.52795397547)),
    ProblemClass("W", 24, 0.0008, 200,
        (112.5590409344, 11.80007595731, 27.10329767846, 24.69174937669, 263.8427874317),
        (4.419655736008, 0.4638531260002, 1.011551749967, 0.9235878729944, 10.18045837718),
        (67.29594398612, 5.26452308169, 16.77107142637, 15.08721463436, 147.7018363393)),
    ProblemClass("A", 64, 0.0008, 200,
        (108.06346714637264, 11.319730901220813, 25.974354511582465, 23.66562254467891, 252.78963211748345),
        (4.2348416040525025, 0.443902824969957, 0.9669248013634565, 0.8830206303976548, 9.737990177082928),
        (64.82218724961, 5.066461714527, 16.13931961359, 14.52010201481, 142.0099377681)),
    ProblemClass("B", 102, 0.0003, 200,
        (1423.3597229287254, 99.33052259015024, 356.46025644535285, 324.8544795908409, 3270.7541254659363),
        (52.96984714093686, 4.463289611567067, 13.122573342210174, 12.006925323559145, 124.59576151035986),
        (147.7545106464, 11.08895555053, 36.98065590331, 33.1050558144, 315.7928282563)),
    ProblemClass("C", 162, 0.0001, 200,
        (6239.8116551764615, 507.93239190423964, 1542.3530093013596, 1330.238792929119, 11604.087428436455),
        (164.62008369091265, 11.497107903824313, 41.20744620746151, 37.08765105969417, 362.11053051841265),
        (259.7156483475, 19.85384289495, 65.17950485788, 57.5723554152, 521.5668188726)),
    ProblemClass("D", 408, 2e-05, 250,
        (25331.88551738, 2346.39371698, 6294.554366904, 5352.56537603, 39058.64038618),
        (310.0009377557, 24.24086324913, 77.82212022645, 68.35623860116, 606.5737200368),
        (381.3781566713, 31.60872966198, 95.9357635729, 83.63391989815, 706.3466087423)),
    ProblemClass("E", 1020, 4e-06, 250,
        (97953.72484517, 9739.814511521, 24676.06342965, 20924.1957286, 139213.8856939),
        (432.7562208414, 36.99051964887, 108.9845040954, 94.62517622043, 776.5512765309),
        (472.9898413058, 41.45899331704, 119.2850917138, 103.2746026932, 827.0322177634)),
    ProblemClass("F", 2560, 6e-07, 250,
        (424073.5175585, 43487.01133212, 107811.4688845, 91421.60938556, 587984.2143431),
        (509.5577042351, 45.57065541652, 128.6632140581, 111.1419378722, 872.0011709356),
        None),
)
# fmt: on
CLASSES = {row.name: row for row in ROWS}


def find_class(name: str, origin: str = "suite table") -> ProblemClass:
    """Look a class up by its letter; a miss lists what there is."""
    if name not in CLASSES:
        raise ParameterError("class", name, f"one of {', '.join(CLASSES)}", origin)
    return CLASSES[name]


def class_of_size(total_bytes: int) -> ProblemClass | None:
    """The class whose file has this size; no two have the same."""
    return next((row for row in ROWS if row.total_bytes == total_bytes), None)
