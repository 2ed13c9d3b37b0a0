"""Solutions that nobody solved for, to be drawn: a batch in waves, and one of ellipses with its truth."""

import jax
import jax.numpy as jnp

import edgewise as ew
from edgewise.base.result import Result
from edgewise.density import NodalDensity

WAVES = ew.Problem(
    family=ew.StarCurve(lambda s, a: 1 + a @ jnp.cos(jnp.arange(2, 6) * s)),
    parameters=ew.Box(a=([-0.1] * 4, [0.1] * 4), k=(1.0, 3.0)),
    representation=ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k")),
    data=ew.PlaneWave(0.3),
    side="exterior",
)
LAYER = ew.SingleLayer(ew.Laplace(dim=2))
ELLIPSES = ew.Problem(
    ew.Ellipse("a", 1.0), ew.Box(a=(1.0, 2.0)), LAYER, lambda x: x[0], "interior", exact=lambda x: x[0]
)
A = jnp.array([[0.0312345, -0.0512345, 0.0712345, -0.0912345], [0.1, 0.0, -0.1, 0.05], [0.0, 0.0, 0.0, 0.01]])


class Known(ew.Solution):
    """A solution that nobody solved for: its fields are formulas, which take no time to compile."""

    def __call__(self, points):
        return self._of_members(lambda p: jnp.asarray(points)[..., 0] * p["a"])

    def total(self, points):
        return self._of_members(lambda p: jnp.exp(1j * p["k"] * jnp.asarray(points)[..., 0]))

    def far_field(self, directions):
        return self._of_members(lambda p: p["k"] * (1.5 + jnp.asarray(directions)[..., 0]) + 0j)

    def __getitem__(self, index):
        return Known(**vars(super().__getitem__(index)))

    def _of_members(self, read):
        return jax.vmap(read)(self.parameters) if self.batched else read(self.parameters)


class Beyond(Known):
    """Asked where there is no field."""

    def __call__(self, points):
        return jnp.full(points.shape[:-1], jnp.nan)


def known(problem, rule, values, **parameters):
    """A batch with this density, a function of the nodes."""
    count = len(next(iter(parameters.values()))) if parameters else 1
    boundary = jax.jit(jax.vmap(lambda p: rule.place(problem.family, p, jnp.dtype(float)), axis_size=count))(parameters)
    density = NodalDensity(boundary.s, values(boundary), boundary.components)
    result = Result(jnp.zeros(count, int), jnp.zeros(count, int))
    rules = jax.vmap(lambda _: rule)(jnp.arange(count))
    return Known(problem, parameters, density, boundary, jnp.zeros(count), rules, result, {}, True)  # pyright: ignore


def in_waves():
    return known(WAVES, ew.Kress(64), lambda b: jnp.exp(2j * b.x[..., 0]), a=A, k=jnp.array([1.0, 2.0, 2.5]))


def of_ellipses():
    return known(ELLIPSES, ew.Kress(64), lambda b: b.x[..., 0], a=jnp.linspace(1.0, 2.0, 12))
