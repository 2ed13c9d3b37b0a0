"""Identities, fields and flows on curves with corners, by the rule graded to them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corners import ANGLES, CORNERED, DEGREE, QUICK, matrix, nodes_of, place
from members import FAMILIES, LAPLACE, entire

import edgewise as ew
from edgewise.kernels import LAYERS
from edgewise.special import resample


def refined_solve(a, b):
    """Elimination with partial pivoting loses digits on a graded single layer; one step of refinement brings them back."""
    x = jnp.linalg.solve(a, b)
    return x + jnp.linalg.solve(a, b - a @ x)


def bordered(a):
    n = a.shape[0]
    return jnp.ones((n + 1, n + 1)).at[:n, :n].set(a).at[n, n].set(0.0)


def single_layer_strength(rule, nodes, data):
    """Density times jacobian and the constant with S φ + c = data and ∫ φ = 0."""
    solution = refined_solve(bordered(matrix(rule, "single", nodes) / nodes.jacobian), jnp.append(data, 0.0))
    return solution[:-1], solution[-1]


def misfit(family, data, nodes, **options):
    """How far the single layer's potential is from the data on the boundary, at three times as many nodes."""
    rule, coarse = nodes_of(family, nodes, **options)
    strength, constant = single_layer_strength(rule, coarse, jax.vmap(data)(coarse.x))
    fine_rule, fine = nodes_of(family, 3 * nodes, **options)
    # Node j of the coarse grid is node 3j + 1 of the fine one.
    strength = jnp.roll(resample(strength, 3 * nodes), 1)
    value = matrix(fine_rule, "single", fine) / fine.jacobian @ strength + constant
    return float(jnp.max(jnp.abs(value - jax.vmap(data)(fine.x))))


def square_of_x(x):
    """Not the trace of an entire harmonic function: its density is singular at every corner."""
    return x[0] ** 2


def corner_field(x):
    """r^(2/3) sin(2θ/3), harmonic in the L and singular at its corner, zero on both sides there."""
    theta = jnp.arctan2(x[1], x[0])
    return jnp.hypot(x[0], x[1]) ** (2 / 3) * jnp.sin(jnp.where(theta < 0, theta + 2 * np.pi, theta) * 2 / 3)


@pytest.mark.parametrize("name", QUICK)
def test_gauss_and_green(name):
    """D 1 = -1/2, ∫ D'φ = -∫ φ/2, S ∂u/∂n = (1/2 + D) u and, times jacobian, T u = (D' - 1/2) ∂u/∂n."""
    rule, nodes = nodes_of(CORNERED[name])
    single, double, adjoint, hyper = (matrix(rule, layer, nodes) for layer in LAYERS)
    assert jnp.max(jnp.abs(double @ jnp.ones(rule.num_nodes) + 0.5)) < 1e-12
    u = jax.vmap(entire)(nodes.x)
    flux = jnp.sum(jax.vmap(jax.grad(entire))(nodes.x) * nodes.normal, axis=-1)
    scale = float(jnp.max(jnp.abs(flux)))
    assert abs(nodes.weight @ (adjoint @ flux + flux / 2)) < 1e-12 * scale
    thin = name == "airfoil"
    assert jnp.max(jnp.abs(single @ flux - u / 2 - double @ u)) < (1e-6 if thin else 1e-8) * scale
    defect = nodes.jacobian * (hyper @ u - (adjoint @ flux - flux / 2))
    assert jnp.max(jnp.abs(defect)) < (1e-3 if thin else 2e-6) * scale


@pytest.mark.parametrize("name", ["ellipse", "clockwise"])
def test_without_corners_it_is_kress(name):
    """Moved by half a step, here undone by a rotation of the coordinate."""
    family, _, member = FAMILIES[name]
    rule, nodes = nodes_of(family, 64, member)
    half = np.pi / 64
    shifted = ew.Curve(lambda s: family.point(s + (half if name == "ellipse" else -half), **member))
    kress = ew.Kress(64)
    same = place(kress, shifted, {})
    assert jnp.max(jnp.abs(same.x - nodes.x)) < 1e-14
    for layer in LAYERS:
        a, b = matrix(rule, layer, nodes), matrix(kress, layer, same, sampling=1)
        assert jnp.max(jnp.abs(a - b)) < 1e-11, layer


SOLVED = [("square", entire)]
ALL = [("L", corner_field), *((name, data) for name in ("square", "L", "teardrop") for data in (entire, square_of_x))]


@pytest.mark.parametrize(
    ("name", "data"), [*SOLVED, *(pytest.param(*case, marks=pytest.mark.slow) for case in ALL if case not in SOLVED)]
)
def test_solve(name, data, measured):
    """The library chooses the nodes. On the boundary, 1e-8 to 1e-2 from it, and 1e-6 from the corners."""
    family = CORNERED[name]
    problem = ew.Problem(family, None, ew.SingleLayer(LAPLACE), data, "interior")
    solution = ew.solve(problem)
    assert solution.result.ok and solution.stats["num_nodes"] <= 1200
    with pytest.raises(ValueError, match="given at the nodes, not between them"):
        solution.density(jnp.array(0.3))
    rule = solution.quadrature
    fine = rule.at(ew.Graded(3 * rule.num_nodes).grid()[0], family, {}, np.float64)
    error = jnp.abs(solution(fine.x) - jax.vmap(data)(fine.x))
    measured(f"corners, {name}, {data.__name__}, on the boundary", float(jnp.max(error)), 1e-8)
    assert jnp.max(jnp.abs(solution.residual())) < 1e-8
    field = data if data is not square_of_x else ew.solve(problem, tol=1e-12)
    field = jax.vmap(field) if data is not square_of_x else field
    distance = jnp.asarray(10 ** np.random.default_rng(0).uniform(-8, -2, 200))[:, None]
    # Nodes away from the corners, so that a step along the normal stays inside.
    some = np.flatnonzero(np.linalg.norm(np.asarray(fine.offset), axis=1) > 0.1)
    some = some[np.linspace(0, len(some) - 1, 200).astype(int)]
    points = fine.x[some] - distance * fine.normal[some]
    measured(
        f"corners, {name}, {data.__name__}, field", float(jnp.max(jnp.abs(solution(points) - field(points)))), 1e-8
    )
    corners = np.unique(np.asarray(fine.anchor), axis=0)
    circle = 1e-6 * np.stack([np.cos(np.arange(60.0)), np.sin(np.arange(60.0))], axis=-1)
    points = (corners[:, None] + circle).reshape(-1, 2)
    values = solution(points)
    inside = ~np.isnan(values)
    angles = sum(ANGLES[name]) / 360
    assert abs(inside.sum() / 60 - angles) < 0.05 * len(corners)
    error = float(jnp.max(jnp.abs(values - field(jnp.asarray(points)))[inside]))
    measured(f"corners, {name}, {data.__name__}, 1e-6 from corners", error, 1e-6)


@pytest.mark.slow
def test_flow_with_circulation(measured):
    """The stream function outside an airfoil, with the circulation that leaves its trailing edge smoothly (Kutta)."""
    angle, thickness, camber, incidence = 10 * DEGREE, 0.1, 0.1, 0.1
    m, centre, stream = 2 - angle / np.pi, complex(-thickness, camber), np.exp(-1j * incidence)
    radius = abs(1 - centre)
    free = lambda x: x[1] * np.cos(incidence) - x[0] * np.sin(incidence)
    problem = ew.Problem(
        ew.Airfoil(angle, thickness, camber),
        ew.Box(charge=(-5.0, 5.0)),
        ew.SingleLayer(LAPLACE),
        lambda x: -free(x),
        "exterior",
        at_infinity="charge",
    )
    both = ew.solve(problem, charge=jnp.array([0.0, 1.0]))
    # Either side of the edge the vortex sheet must not grow: the sum of its strengths vanishes there.
    offset = np.linalg.norm(np.asarray(both[0].boundary.offset), axis=-1)
    upper = int(np.argmin(np.abs(np.log(offset[: len(offset) // 2] / 1e-8))))
    edge = np.asarray(both.density.values[:, upper] + both.density.values[:, -1 - upper])
    charge = edge[0] / (edge[0] - edge[1])
    lift = 4 * np.pi * radius * np.sin(incidence + np.arcsin(camber / radius))
    measured("circulation of an airfoil", abs(float(charge + lift)), 1e-6)
    rng = np.random.default_rng(0)
    arm = radius * (1 + 10 ** rng.uniform(-6, 1, 200)) * np.exp(2j * np.pi * rng.uniform(size=200))
    quotient = ((arm + centre - 1) / (arm + centre + 1)) ** m
    place = m * (1 + quotient) / (1 - quotient)
    points = jnp.asarray(np.stack([place.real, place.imag], axis=-1))
    slope = 2 * m / (1 - quotient) ** 2 * quotient * 2 * m / ((arm + centre) ** 2 - 1)
    gradients = np.asarray(both.gradient(points)) + np.array([-np.sin(incidence), np.cos(incidence)])
    for name, amount in (("without circulation", 0.0), ("with circulation", charge)):
        gradient = gradients[0] + amount * (gradients[1] - gradients[0])
        # Velocity u - iv = ∂ψ/∂y + i ∂ψ/∂x.
        velocity = gradient[:, 1] + 1j * gradient[:, 0]
        circulation = lift if amount else 0.0
        exact = (stream - stream.conj() * radius**2 / arm**2 + 1j * circulation / (2 * np.pi * arm)) / slope
        away = np.abs(place - m) > (0.0 if amount else 1e-3)
        measured(f"flow past an airfoil, {name}", float(np.abs(velocity - exact)[away].max()), 1e-6)


@pytest.mark.parametrize(("name", "data"), [("teardrop", square_of_x), ("L", corner_field)])
@pytest.mark.slow
def test_misfit_on_the_boundary_and_its_order(name, data, measured):
    """Below 1e-8 at 960 nodes, and the docstring's order between a fifth of them and all."""
    coarse, fine = (misfit(CORNERED[name], data, nodes) for nodes in (192, 960))
    measured(f"corners, {name}, {data.__name__}, 960 nodes", fine, 1e-8)
    assert np.log(coarse / fine) / np.log(5) > 8


@pytest.mark.slow
def test_flow_around_an_airfoil(measured):
    """Without circulation, by a double layer; the potential is that of a circle, mapped."""
    m, centre, stream = 2 - 10 / 180, -0.1 + 0.1j, np.exp(-0.2j)
    rule, nodes = nodes_of(ew.Airfoil(10 * DEGREE, 0.1, 0.1), 1024)
    normal = np.asarray(nodes.normal) @ np.array([stream.real, -stream.imag])
    rows = nodes.jacobian[:, None] * (matrix(rule, "hypersingular", nodes) + nodes.weight)
    density = refined_solve(rows, -nodes.jacobian * normal)
    angles = np.linspace(0, 2 * np.pi, 40)
    for share, bound in ((1.5, 2e-6), (1.15, 1e-5)):
        circle = share * abs(1 - centre) * np.exp(1j * angles)
        quotient = ((circle + centre - 1) / (circle + centre + 1)) ** m
        points = m * (1 + quotient) / (1 - quotient)
        # As W = U (Z - centre) + conj(U) R²/(Z - centre); the uniform stream itself is not part of the layer.
        exact = (stream * circle + np.conj(stream) * abs(1 - centre) ** 2 / circle - stream * points).real
        d = points[:, None] - np.asarray(nodes.x @ np.array([1, 1j]))
        unit = np.asarray(nodes.normal @ np.array([1, 1j]))
        value = (unit / d).real @ np.asarray(nodes.weight * density) / (2 * np.pi)
        error = value - exact
        measured(f"flow around an airfoil, {share} radii", float(np.ptp(error)), bound)


@pytest.mark.slow
def test_derivatives_in_shape_parameters():
    """Through `jit` and `grad`, against differences: an angle, vertices, and an airfoil's three numbers."""

    def field(family, point, nodes=128, **parameters):
        rule = ew.Graded(nodes, order=8)
        nodes = rule.place(family, parameters, np.float64)
        single = rule.matrix(LAPLACE, "single", nodes) / nodes.jacobian
        solution = jnp.linalg.solve(bordered(single), jnp.append(square_of_x(nodes.x.T), 0.0))
        d = jnp.asarray(point) - nodes.x
        logs = -jnp.log(jnp.sum(d**2, axis=-1)) / (2 * rule.num_nodes)
        return logs @ solution[:-1] + solution[-1]

    cases = [
        (lambda a: field(ew.Teardrop("angle"), (1.0, 0.1), angle=a), jnp.array(1.0)),
        (
            lambda v: field(ew.Polygon("corners", num_vertices=4), (0.1, 0.2), corners=v),
            jnp.array([(-1.0, -1.0), (1.0, -0.8), (1.2, 1.0), (-1.0, 1.0)]),
        ),
        (
            lambda q: field(ew.Airfoil("tail", "fat", "bent"), (0.1, 0.2), tail=q[0], fat=q[1], bent=q[2]),
            jnp.array([0.3, 0.15, 0.05]),
        ),
    ]
    for function, at in cases:
        function = jax.jit(jax.value_and_grad(function))
        direction = jnp.cos(jnp.arange(at.size, dtype=float)).reshape(at.shape)
        slope = jnp.sum(function(at)[1] * direction)
        step = 1e-4
        f = [function(at + k * step * direction)[0] for k in (-2, -1, 1, 2)]
        difference = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)
        assert abs(difference) > 1e-3 and abs(slope / difference - 1) < 1e-7


@pytest.mark.parametrize("name", ["teardrop"])
def test_single_precision(name):
    """Nodes stay apart and every layer finite."""
    rule = ew.Graded(512)
    nodes = eqx.filter_jit(lambda: rule.place(CORNERED[name], {}, np.float32))()
    assert all(leaf.dtype == np.float32 for leaf in jax.tree_util.tree_leaves(nodes))
    single, double, *_ = (matrix(rule, layer, nodes) for layer in LAYERS[:3])
    assert np.all(np.isfinite(single / nodes.jacobian)) and np.all(np.isfinite(double))
    u = jax.vmap(entire)(nodes.x)
    flux = jnp.sum(jax.vmap(jax.grad(entire))(nodes.x) * nodes.normal, axis=-1)
    assert jnp.max(jnp.abs(single @ flux - u / 2 - double @ u)) < 1e-4
