"""Slow viscous flow: against point forces, drag and torque that are known, in the plane and in space."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import stokes

import edgewise as ew

FORCE = np.array([0.3, 1.0])


def point_force(source, force=FORCE):
    """Its velocity, in JAX."""
    source, force = jnp.asarray(source), jnp.asarray(force)
    kernel = ew.Stokes(len(source))
    return lambda x: kernel.fundamental(x - source) @ force


def pair(first, second):
    """Two opposite forces, which together are none: a flow that is at rest far away, in the plane too."""
    return lambda x: point_force(first)(x) - point_force(second)(x)


FLOWS = {
    "inside": (ew.Kite(), point_force((2.0, 1.5)), "interior", -1),
    "outside": (ew.Kite(), pair((0.1, -0.2), (-0.2, 0.3)), "exterior", 1),
    "two bodies": (
        ew.Union(ew.Ellipse(1.0, 0.7), ew.Translate(ew.Ellipse(0.6, 0.6), (2.2, 0.4))),
        pair((0.1, -0.2), (2.3, 0.3)),
        "exterior",
        1,
    ),
    "hole": (ew.Union(ew.Ellipse(2.0, 1.5), ew.Ellipse(0.5, 0.4)), point_force((0.1, 0.1)), "interior", -1),
}


@pytest.mark.parametrize("name", FLOWS)
def test_flows_of_point_forces_in_the_plane(name, measured):
    family, velocity, side, sign = FLOWS[name]
    solution = ew.solve(ew.Problem(family, None, ew.DoubleLayer(ew.Stokes(2)), velocity, side))
    assert solution.result.ok
    x, normal = np.asarray(solution.boundary.x)[::9], np.asarray(solution.boundary.normal)[::9]
    points = np.concatenate([x + sign * distance * normal for distance in (1e-8, 1e-3, 0.1)])
    error = np.abs(solution(points) - jax.vmap(velocity)(points)).max()
    measured(f"Stokes, point forces {name}", error, 1e-10)
    gradient = np.abs(solution.gradient(points) - jax.vmap(jax.jacfwd(velocity))(points)).max()
    measured(f"Stokes, gradients {name}", gradient, 1e-7)
    assert np.abs(solution.residual()).max() < 1e-10
    assert float(solution.error_estimate()) >= 0.5 * error


def test_pressure_in_the_plane(measured):
    family, velocity, side, _ = FLOWS["inside"]
    solution = ew.solve(ew.Problem(family, None, ew.DoubleLayer(ew.Stokes(2)), velocity, side))
    points = np.array([[0.0, 0.0], [-0.5, 0.8], [-0.3, -0.6], [0.5, 0.1]])
    truth = stokes.stokeslet_pressure(points, np.array([2.0, 1.5]), FORCE)
    found = np.asarray(solution.pressure(points))
    # Inside, the pressure is free of a constant.
    measured("Stokes, pressure inside", np.abs((found - found[0]) - (truth - truth[0])).max(), 1e-10)


def test_force_and_torque_in_the_plane(measured):
    """A turning circle: torque 4π a² ω of the fluid on it, against the turn; and no force."""
    turning = lambda x: 0.7 * jnp.array([-x[1], x[0]])
    solution = ew.solve(ew.Problem(ew.Ellipse(1.5, 1.5), None, ew.DoubleLayer(ew.Stokes(2)), turning, "exterior"))
    assert solution.force().shape == (1, 2) and solution.torque().shape == (1,)
    assert solution.at_infinity.shape == (2,) and np.abs(solution.at_infinity).max() < 1e-12
    measured("Stokes, torque of a circle", abs(float(solution.torque()[0]) + 4 * np.pi * 1.5**2 * 0.7), 1e-10)
    measured("Stokes, force of a turning circle", float(np.abs(solution.force()).max()), 1e-10)


def moving(axes):
    """A body that moves with a velocity and turns."""
    box = ew.Box(velocity=([-1.0] * 3, [1.0] * 3), spin=([-1.0] * 3, [1.0] * 3))
    return ew.Problem(
        ew.Ellipsoid(*axes),
        box,
        ew.DoubleLayer(ew.Stokes(3)),
        lambda x, velocity, spin: velocity + jnp.cross(spin, x),
        "exterior",
    )


@pytest.mark.parametrize(
    ("axes", "nodes", "bound"),
    [
        pytest.param((1.0, 1.0, 1.0), 8, 1e-5, id="sphere"),
        pytest.param((1.0, 1.0, 1.0), 16, 1e-9, id="sphere-full", marks=pytest.mark.slow),
        pytest.param((1.5, 1.0, 0.7), 16, 1e-7, id="ellipsoid-full", marks=pytest.mark.slow),
    ],
)
def test_drag_and_torque_of_ellipsoids(axes, nodes, bound, measured):
    """Two motions share a matrix; the fluid resists each."""
    v, w = np.array([0.3, -0.5, 0.8]), np.array([0.4, 0.7, -0.2])
    batch = ew.solve(
        moving(axes),
        quadrature=ew.Duffy(nodes),
        tol=1e-3,
        velocity=np.stack([v, 0 * v]),
        spin=np.stack([0 * w, w]),
    )
    drag, torque = stokes.ellipsoid_resistance(axes)
    measured(f"drag of {axes}", np.abs(batch[0].force()[0] / (-drag * v) - 1).max(), bound)
    measured(f"torque of {axes}", np.abs(batch[1].torque()[0] / (-torque * w) - 1).max(), bound)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "source", "sign"), [("interior", (1.2, 0.9, 1.4), -1), ("exterior", (0.1, 0.2, -0.1), 1)]
)
def test_flows_of_point_forces_in_space(side, source, sign, measured):
    velocity = point_force(source, (0.3, 1.0, -0.4))
    problem = ew.Problem(ew.Sphere(), None, ew.DoubleLayer(ew.Stokes(3)), velocity, side)
    solution = ew.solve(problem, quadrature=ew.Duffy(16), tol=1e-3)
    x, normal = np.asarray(solution.boundary.x)[::97], np.asarray(solution.boundary.normal)[::97]
    for distance in (1e-6, 1e-2, 0.3):
        points = x + sign * distance * normal
        error = np.abs(solution(points) - jax.vmap(velocity)(points)).max()
        measured(f"Stokes in space, {side}, {distance:g} from the sphere", error, 1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ew.solve(
                ew.Problem(ew.Kite(), None, ew.DoubleLayer(ew.Stokes(2)), lambda x: x, "interior"),
                quadrature=ew.Kress(64),
            ),
            "More flows out than in.*flux",
        ),
        (
            lambda: ew.solve(
                ew.Problem(ew.Kite(), None, ew.DoubleLayer(ew.Stokes(2)), lambda x: x[0], "exterior"),
                quadrature=ew.Kress(64),
            ),
            r"returned shape \(\).*expected a velocity",
        ),
        (
            lambda: ew.Problem(ew.Kite(), None, ew.SingleLayer(ew.Stokes(2)), lambda x: x, "exterior"),
            r"`DoubleLayer\(kernel\)`",
        ),
        (
            lambda: ew.Problem(
                ew.Kite(), None, ew.DoubleLayer(ew.Stokes(2)), lambda x: x, "exterior", condition=ew.Neumann()
            ),
            "velocities as data",
        ),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
