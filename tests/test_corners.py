"""Curves with corners, and the rule graded to them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import FAMILIES, LAPLACE, entire

import edgewise as ew
from edgewise.kernels import LAYERS
from edgewise.kernels.kernel import displacement
from edgewise.special import resample

DEGREE = np.pi / 180
SQUARE = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
L_SHAPE = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, -1.0)]


def lens(s, angle=np.pi / 3):
    """Two arcs over the chord from 1 to -1 that meet it at `angle` each, written as two formulas joined at s = π."""
    turn = (s - jnp.where(s < np.pi, np.pi / 2, 3 * np.pi / 2)) * angle / (np.pi / 2)
    sign = jnp.where(s < np.pi, 1.0, -1.0)
    return -sign * jnp.sin(turn) / np.sin(angle), sign * (jnp.cos(turn) - np.cos(angle)) / np.sin(angle)


CORNERED = {
    "square": ew.Polygon(SQUARE),
    "clockwise square": ew.Polygon(SQUARE[::-1]),
    "L": ew.Polygon(L_SHAPE),
    "teardrop": ew.Teardrop(30 * DEGREE),
    "heart": ew.Teardrop(270 * DEGREE),
    "airfoil": ew.Airfoil(10 * DEGREE),
    "lens": ew.Curve(lens, corners=(0.0, np.pi)),
    "moved": ew.Translate(ew.Rotate(ew.Scale(ew.Teardrop(60 * DEGREE), 0.5), 0.7), (5.0, -3.0)),
}
# Interior angles at the corners, in the order of the nodes.
ANGLES = {
    "square": [90] * 4,
    "clockwise square": [90] * 4,
    "L": [270, 90, 90, 90, 90, 90],
    "teardrop": [30],
    "heart": [270],
    "airfoil": [10],
    "lens": [120, 120],
    "moved": [60],
}


QUICK = [n if n in ("clockwise square", "L", "airfoil") else pytest.param(n, marks=pytest.mark.slow) for n in CORNERED]


def nodes_of(family, nodes=576, parameters=None, **options):
    rule = ew.Graded(nodes, **options)
    return rule, place(rule, family, parameters or {})


@eqx.filter_jit
def place(rule, family, parameters):
    return rule.place(family, parameters, np.float64)


@eqx.filter_jit
def place_at(rule, sigma, family):
    return rule.position(sigma, family, {}, np.float64)


@eqx.filter_jit
def matrix(rule, layer, nodes, sampling=2):
    return rule.matrix(LAPLACE, layer, nodes, sampling=sampling)


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
def test_geometry(name):
    """Angles at corners, ∫ n = 0, area and length against a fine polygon, ∫ curvature = 2π less the turns at corners."""
    family = CORNERED[name]
    rule, nodes = nodes_of(family)
    sides = len(family.corners)
    first, last = (
        nodes.normal[:: rule.num_nodes // sides],
        jnp.roll(nodes.normal, 1, axis=0)[:: rule.num_nodes // sides],
    )
    turn = jnp.arctan2(last[:, 0] * first[:, 1] - last[:, 1] * first[:, 0], jnp.sum(first * last, axis=-1))
    angles = np.sort(np.asarray(180 - turn / DEGREE))
    assert np.max(np.abs(angles - np.sort(ANGLES[name]))) < 1e-8
    assert jnp.max(jnp.abs(nodes.weight @ nodes.normal)) < 1e-12
    x, y = np.asarray(jax.vmap(family.point)(np.linspace(0, 2 * np.pi, 48001))).T
    area = float(nodes.weight @ jnp.sum(nodes.x * nodes.normal, axis=-1)) / 2
    assert area > 0 and abs(area - abs(np.trapezoid(x, y))) < 1e-6
    assert abs(nodes.measure - np.hypot(np.diff(x), np.diff(y)).sum()) < 1e-6
    assert abs(nodes.weight @ nodes.curvature + jnp.sum(turn) - 2 * np.pi) < 1e-10
    # The same curve by `point`, and no node on a corner however close.
    assert jnp.max(jnp.abs(jax.vmap(family.point)(nodes.s) - nodes.x)) < 1e-14 * 10
    assert 0 < jnp.min(jnp.linalg.norm(nodes.offset, axis=-1)) < 1e-15


def test_lengths_are_exact():
    for vertices in (SQUARE, L_SHAPE):
        assert abs(nodes_of(ew.Polygon(vertices), 576)[1].measure - 8) < 1e-12


def test_displacements_at_a_corner():
    """Nodes 1e-30 apart, on both sides of a right angle: distances to relative rounding."""
    _, nodes = nodes_of(ew.Polygon(np.add(SQUARE, 1 / 3)), 1024)
    ends = [jax.tree_util.tree_map(lambda leaf, i=i: leaf[i], nodes) for i in (0, 1, -1)]
    way = [float(jnp.linalg.norm(end.offset)) for end in ends]
    assert way[0] < 1e-20 and abs(way[0] / way[2] - 1) < 1e-9
    along, across = displacement(ends[1], ends[0]), displacement(ends[0], ends[2])
    assert np.max(np.abs(along - np.array([way[1] - way[0], 0]))) < 1e-14 * way[1]
    assert np.max(np.abs(across - np.array([way[0], -way[2]]))) < 1e-14 * way[0]


@pytest.mark.parametrize("delta", [1e-3, -1e-3, 1e-9, -1e-30, 1e-30, -1e-100])
def test_positions_from_a_corner(delta):
    """To relative rounding of what is known of them: sides of polygons, velocities, and an airfoil's leading power."""
    polygon = ew.Polygon(L_SHAPE)
    corner = polygon.corners[3]
    arm = {1: polygon.point(corner + 1e-1), -1: polygon.point(corner - 1e-1)}[np.sign(delta)] - polygon.point(corner)
    offset = polygon.from_corner(jnp.array(corner), jnp.array(delta), {})
    assert np.max(np.abs(offset - arm * abs(delta) / 1e-1)) < 1e-13 * abs(delta)

    angle = 30 * DEGREE
    offset = ew.Teardrop(angle).from_corner(jnp.array(0.0), jnp.array(delta), {})
    tangent = np.array([abs(delta) * np.cos(angle / 2), -delta * np.sin(angle / 2)])
    assert np.max(np.abs(offset - tangent)) < (1e-14 + abs(delta) ** 2) * abs(delta)

    # Of two formulas joined at a corner, each holds on its own side.
    offset = CORNERED["lens"].from_corner(jnp.array(np.pi), jnp.array(delta), {})
    speed = (np.pi / 3) / (np.pi / 2) / np.sin(np.pi / 3)
    tangent = speed * np.array([abs(delta) * np.cos(np.pi / 3), -delta * np.sin(np.pi / 3)])
    assert np.max(np.abs(offset - tangent)) < (1e-14 + 2 * abs(delta)) * abs(delta)

    # z - m -> 2m (iδ R e^{iθ} / 2)^m.
    m = 2 - 10 / 180
    x, y = ew.Airfoil(10 * DEGREE, 0.1, 0.05).from_corner(jnp.array(0.0), jnp.array(delta), {})
    leading = 2 * m * (1j * delta * (1.1 - 0.05j) / 2) ** m
    assert abs(complex(x, y) / leading - 1) < 1e-12 + 10 * abs(delta)


def test_default_position_from_a_corner_agrees_with_the_teardrop_itself():
    """Near the corner by an integral, farther by a difference; the two meet."""
    family = ew.Teardrop(1.0)
    for delta in (0.31, 0.32, -0.31, -0.32):
        plain = family.point(delta % (2 * np.pi)) - family.point(0.0)
        assert np.max(np.abs(family.from_corner(jnp.array(0.0), jnp.array(delta), {}) - plain)) < 1e-15


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
    fine = rule.position(ew.Graded(3 * rule.num_nodes).grid()[0], family, {}, np.float64)
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


def test_positions_at_any_coordinate():
    """The rule's own nodes are among those of a grid three times finer, also while σ is traced."""
    for family in (CORNERED["clockwise square"], CORNERED["airfoil"], ew.Kite()):
        rule, nodes = nodes_of(family, 64)
        fine = place_at(rule, ew.Graded(192).grid()[0], family)
        assert jnp.max(jnp.abs(fine.x[1::3] - nodes.x)) < 1e-13
        assert jnp.max(jnp.abs(fine.jacobian[1::3] / nodes.jacobian - 1)) < 1e-11
        traced = place_at(rule, jnp.asarray(rule.grid()[0]), family)
        assert jnp.max(jnp.abs(traced.x - nodes.x)) < 1e-13


MESSAGES = [
    (lambda: ew.Graded(129), "must be even, got 129. Write `Graded(130)`"),
    (lambda: ew.Graded(128, order=1), "`order` must be a number in [2, 20], got 1"),
    (lambda: ew.Graded(128).place(ew.Polygon(SQUARE[:3]), {}, np.float64), "Write `Graded(144)`"),
    (lambda: ew.Graded(1024).place(ew.Polygon(L_SHAPE), {}, np.float64), "Write `Graded(1056)`"),
    (lambda: ew.Kress(128).place(ew.Polygon(SQUARE), {}, np.float64), "Use `Graded(128)`"),
    (lambda: ew.Kress(128).place(ew.Polygon(L_SHAPE), {}, np.float64), "Use `Graded(192)`"),
    (lambda: ew.Polygon([(0, 0), (1, 0)]), "shape (2, 2); expected (m >= 3, 2)"),
    (lambda: ew.Polygon("v"), "Write `Polygon('v', num_vertices=4)`"),
    (lambda: ew.Polygon([*SQUARE, SQUARE[0]]), "Vertices 4 and 0 are the same point, [-1.0, -1.0]"),
    (lambda: ew.Polygon("v", num_vertices=3).point(0.0, v=jnp.zeros((4, 2))), "have shape (4, 2); expected (3, 2)"),
    (lambda: ew.Teardrop(7.0), "`angle` must lie between 0 and 2π (radians), got 7.0"),
    (lambda: ew.Airfoil(4.0), "`trailing_angle` must lie between 0 and π (radians), got 4.0"),
    (lambda: ew.Airfoil(thickness=0.0), "`thickness` must be positive, got 0.0"),
    (lambda: ew.Curve(lens, corners=(3.0, 1.0)), "Write `Curve(function, corners=(1.0, 3.0))`"),
    (lambda: ew.Curve(lens, corners=(0.0, 7.0)), "must ascend in [0, 2π), got (0.0, 7.0)"),
    (lambda: ew.Curve(lens, corners=1.0), "`corners` must be numbers in [0, 2π), got 1.0"),
]


@pytest.mark.parametrize(("call", "words"), MESSAGES, ids=[words for _, words in MESSAGES])
def test_messages(call, words):
    with pytest.raises((ValueError, TypeError)) as raised:
        call()
    assert words in str(raised.value)
