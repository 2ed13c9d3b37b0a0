"""Solutions and tables for the tests of files for other programs."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, PAPER, entire

import edgewise as ew
from edgewise.density import PanelDensity
from edgewise.export.table import Table

STAR = ew.Problem(PAPER, ew.Box(t=(1.0, 2.0)), ew.SingleLayer(LAPLACE), entire, "interior")
WAVES = ew.Problem(
    ew.Ellipse(1.0, 0.6),
    ew.Box(k=(1.0, 5.0), angle=ew.Angle(0.0)),
    ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k")),
    ew.PlaneWave("angle"),
    "exterior",
)
BALL = ew.Problem(ew.Sphere(), None, ew.SingleLayer(ew.Laplace(dim=3)), lambda x: x[0] * x[2], "interior")
ECHO = ew.Problem(
    ew.Sphere(),
    ew.Box(direction=ew.Direction(3, default=(0, 0, 1))),
    ew.CombinedField(ew.Helmholtz(dim=3, wavenumber=1.0)),
    ew.PlaneWave("direction"),
    "exterior",
)
# In the plane and in space, real and complex, one member and several; on few nodes: files need not be right, but as they were.
CASES = {
    "stars": lambda: ew.solve(STAR, t=jnp.array([1.5, 1.0, 1.25]), quadrature=ew.Kress(64)),
    "wave": lambda: ew.solve(WAVES, k=2.0, quadrature=ew.Kress(48)),
    "ball": lambda: ew.solve(BALL, quadrature=ew.Duffy(4)),
    "echoes": lambda: ew.solve(ECHO, direction=jnp.eye(3)[:2], quadrature=ew.Duffy(4)),
}
cases = pytest.mark.parametrize("case", ["stars", "wave", "ball", pytest.param("echoes", marks=pytest.mark.slow)])


@functools.cache
def solved(name):
    """A solution by name, made once."""
    return CASES[name]()


# Tables of their own, at no price.
POINTS = np.array([[0.1, 0.2], [1 / 3, -2e-300], [np.pi, 1e22]])


def table(values, points=POINTS, errors=None, problem=STAR, **parameters):
    members = {n: np.asarray(v, float) for n, v in parameters.items()}
    return Table(problem, members, points, {"u": np.asarray(values)}, errors, batched=len(values) > 1)


X, Z = np.linspace(1.5, 2, 4), np.linspace(-1, 1, 3)
# As `indexing="ij"` gives it: x runs slowest.
CUBE = table(np.arange(48.0).reshape(1, 4, 4, 3), np.stack(np.meshgrid(X, X, Z, indexing="ij"), axis=-1), problem=BALL)


def body(family, num_nodes=4, panels=1):
    """A surface with a density, the polynomial u³ - 2v²u in the coordinates of every patch; nothing is solved."""
    rule = ew.Duffy(num_nodes, panels)
    nodes = rule.place(family, {}, np.dtype(float))
    u = nodes.s[:, 0] % 1
    density = PanelDensity(u**3 - 2 * nodes.s[:, 1] ** 2 * u, num_nodes, panels)
    problem = ew.Problem(family, None, BALL.representation, BALL.data, "interior")
    return ew.Solution(problem, {}, density, nodes, None, rule, None, {}, batched=False)  # pyright: ignore
