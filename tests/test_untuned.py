"""Problems that nobody tuned for: without settings, and with a sharp edge."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from many import quadratic
from members import LAPLACE
from training import tiny

import edgewise as ew

AIRFOIL = ew.Problem(
    ew.Rotate(ew.Curve(lambda s: (2 * jnp.sin(s / 2), -0.4 * jnp.sin(s)), corners=(0.0,)), "angle"),
    ew.Box(angle=(-0.3, 0.3)),
    ew.SingleLayer(LAPLACE),
    lambda x, normal: -normal[0],
    "exterior",
    ew.Neumann(),
)


def test_flow_past_a_body_with_a_sharp_edge(tmp_path, measured):
    recipe = tiny(AIRFOIL, network={"harmonics": 54}, collocation={"nodes": 128}, validation={"nodes": 192})
    operator = ew.fit(AIRFOIL, recipe, out=tmp_path / "run")
    angles = np.array([-0.21, 0.13])
    points = np.array([[3.0, 1.0], [0.5, 1.2], [-1.0, -1.0], [2.02, 0.3]])
    found, true = operator(angle=angles), ew.solve(AIRFOIL, angle=angles)
    measured("flow past a sharp edge, against solve", float(np.max(np.abs(found(points) - true(points)))), 1e-5)
    refined = found[0].refine(1e-8)
    assert refined.result.ok and np.max(np.abs(refined(points) - true[0](points))) < 1e-7
    assert found.stats["applications"].max() == 0
    with pytest.raises(ValueError, match="given at the nodes, not between them"):
        found[0].density(0.3)
    np.testing.assert_array_equal(ew.load(tmp_path / "run", AIRFOIL)(angle=angles)(points), found(points))


def circles(gap):
    return [ew.Curve(lambda s, gap, way=way: (jnp.cos(s) + way * (1 + gap / 2), jnp.sin(s))) for way in (-1, 1)]


def joukowski(s):
    """A circle about -0.08 + 0.05i, a little larger than the one that would give a cusp."""
    z = -0.08 + 0.05j + abs(1.11 - 0.05j) * jnp.exp(1j * s)
    return jnp.stack([(z + 1 / z).real, (z + 1 / z).imag])


UNTUNED = {
    "ellipses of aspect 1 to 5": ew.Problem(
        ew.Curve(lambda s, aspect: (aspect * jnp.cos(s), jnp.sin(s))),
        ew.Box(aspect=(1.0, 5.0)),
        ew.SingleLayer(LAPLACE),
        quadratic,
        "interior",
    ),
    "a kite that bends": ew.Problem(
        ew.Curve(lambda s, bend: (jnp.cos(s) + bend * (jnp.cos(2 * s) - 1), 1.5 * jnp.sin(s))),
        ew.Box(bend=(0.0, 0.65)),
        ew.SingleLayer(LAPLACE),
        quadratic,
        "interior",
    ),
    "two bodies that approach to 0.2": ew.Problem(
        ew.Union(circles(None)), ew.Box(gap=(0.2, 1.0)), ew.SingleLayer(LAPLACE), quadratic, "exterior"
    ),
    "flow past a smooth airfoil": ew.Problem(
        ew.Rotate(ew.Curve(joukowski), "angle"),
        ew.Box(angle=(-0.3, 0.3)),
        ew.SingleLayer(LAPLACE),
        lambda x, normal: -normal[0],
        "exterior",
        ew.Neumann(),
    ),
    "flow past a sharp airfoil": dataclasses.replace(AIRFOIL, family=ew.Rotate(ew.Airfoil(), "angle")),
    "a stream from every angle past a sharp airfoil": ew.Problem(
        ew.Airfoil(),
        ew.Box(angle=ew.Angle()),
        ew.SingleLayer(LAPLACE),
        lambda x, normal, angle: -jnp.cos(angle) * normal[0] - jnp.sin(angle) * normal[1],
        "exterior",
        ew.Neumann(),
    ),
    "Robin data": ew.Problem(
        ew.StarCurve(lambda s, a: 1 + a * jnp.cos(3 * s)),
        ew.Box(a=(0.0, 0.3), h=(0.5, 2.0)),
        ew.SingleLayer(LAPLACE),
        quadratic,
        "interior",
        ew.Robin("h"),
    ),
    "Robin data over two decades": ew.Problem(
        ew.StarCurve(lambda s, a: 1 + a * jnp.cos(3 * s)),
        ew.Box(a=(0.0, 0.3), h=(0.1, 10.0)),
        ew.SingleLayer(LAPLACE),
        lambda x: jnp.exp(x[0]),
        "interior",
        ew.Robin("h"),
    ),
    "clamped ellipses of aspect 1 to 3": ew.Problem(
        ew.Ellipse("a", 1.0),
        ew.Box(a=(1.0, 3.0)),
        ew.LayerPair(ew.Biharmonic(2)),
        lambda x: (x[0] ** 4, x[1]),
        "interior",
        ew.Clamped(),
    ),
    "waves on a hard star with five arms": ew.Problem(
        ew.StarCurve(lambda s: 1 + 0.3 * jnp.cos(5 * s)),
        ew.Box(k=(1.0, 5.0)),
        ew.CombinedField(ew.Helmholtz(2, "k")),
        ew.PlaneWave(0.0),
        "exterior",
        ew.Neumann(),
    ),
    "scattering, k in [1, 5]": ew.Problem(
        ew.StarCurve(lambda s: 1 + 0.2 * jnp.cos(3 * s)),
        ew.Box(k=(1.0, 5.0)),
        ew.CombinedField(ew.Helmholtz(2, "k")),
        ew.PlaneWave(0.3),
        "exterior",
    ),
    "scattering from every angle": ew.Problem(
        ew.Curve(lambda s: (jnp.cos(s) + 0.65 * (jnp.cos(2 * s) - 1), 1.5 * jnp.sin(s))),
        ew.Box(k=(1.0, 5.0), angle=ew.Angle()),
        ew.CombinedField(ew.Helmholtz(2, "k")),
        ew.PlaneWave("angle"),
        "exterior",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNTUNED)
def test_problems_that_nobody_tuned_for(name, measured):
    problem = UNTUNED[name]
    operator = ew.fit(problem)
    draw = problem.parameters.sample(jax.random.key(77), 20)
    angles = 2 * np.pi * np.arange(48) / 48
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    found, true = operator(**draw), ew.solve(problem, **draw)
    if isinstance(problem.data, ew.PlaneWave):
        found, true = (np.asarray(solution.far_field(circle)) for solution in (found, true))
    else:
        points = 5 * circle if problem.side == "exterior" else 0.5 * circle - np.array([0.2, 0.0])
        found, true = (np.asarray(solution(points)) for solution in (found, true))
    errors = np.linalg.norm(found - true, axis=1) / np.linalg.norm(true, axis=1)
    assert operator.result.ok
    measured(f"{name}, default, worst of 20 members", float(errors.max()), 1e-4)
