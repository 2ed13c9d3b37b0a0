"""Where the nodes of a curve with corners lie: to relative rounding, however close to a corner."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corners import ANGLES, CORNERED, DEGREE, L_SHAPE, QUICK, SQUARE, lens, nodes_of

import edgewise as ew
from edgewise.kernels.kernel import displacement


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


@eqx.filter_jit
def place_at(rule, sigma, family):
    return rule.at(sigma, family, {}, np.float64)


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
    (lambda: ew.Polygon([*SQUARE[:3], ("along",)]), "Expected points with as many numbers each"),
    (lambda: ew.Polygon([*SQUARE[:3], "corner"]), "where a name stands for one number"),
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
