"""Families of surfaces: areas, volumes and normals against formulas, whether they close, and what they refuse."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special as sp

import edgewise as ew
from edgewise.base.named import bind
from edgewise.geometry import AbstractSurface
from edgewise.geometry.charts import grade
from edgewise.geometry.surface_checks import arrangement, clearance, closing_gap
from edgewise.special import real_harmonics

NODES = 24


def rule(n=NODES):
    nodes, weights = (part / 2 for part in np.polynomial.legendre.leggauss(n))
    grid = np.stack(np.meshgrid(nodes + 0.5, nodes + 0.5, indexing="ij"), axis=-1).reshape(-1, 2)
    return jnp.asarray(grid), jnp.asarray(np.outer(weights, weights).ravel())


def can(s, h):
    """A cylinder of radius 1 and height 2h, with its lids."""
    wall = (s > 0.25) & (s < 0.75)
    r = jnp.where(wall, 1.0, 4 * jnp.minimum(s, 1 - s))
    return r, jnp.where(wall, 4 * h * (s - 0.5), jnp.where(s < 0.5, -h, h))


def bowl(s, h):
    """A paraboloid of radius 1 and height h under a lid."""
    return jnp.where(s < 0.5, 2 * s, 2 - 2 * s), h * jnp.where(s < 0.5, 4 * s**2, 1.0)


def sheet(axis, sign):
    """A face of the unit cube, graded to its four edges by hand."""
    frame = np.zeros((3, 3))
    frame[[axis, (axis + 1) % 3, (axis + 2) % 3], [0, 1, 2]] = (sign, 1.0, sign)
    return ew.Patch(
        lambda s: jnp.asarray(frame, s.dtype) @ jnp.stack([jnp.full_like(s[0], 0.5), s[0] - 0.5, s[1] - 0.5]),
        edges=("u0", "u1", "v0", "v1"),
    )


SHEETS = [sheet(axis, sign) for axis in range(3) for sign in (1, -1)]
FLIPPED = ew.Patch(lambda s: SHEETS[0].function(s[::-1], {}), SHEETS[0].edges)


def ball_patch(s, r):
    polar, around = jnp.pi * s[0], 2 * jnp.pi * s[1]
    return r * jnp.sin(polar) * jnp.cos(around), r * jnp.sin(polar) * jnp.sin(around), r * jnp.cos(polar)


def ellipsoid_area(a, b, c):
    return 4 * np.pi * a * b * c * sp.elliprg(a**-2, b**-2, c**-2)


def spheroid_area(h):
    return ellipsoid_area(1.0, 1.0, h)


HARMONIC = np.array([3.5, 0.1, 0.2, 0.3, 0.1, 0.0, 0.1, 0.2, 0.3])
# Family, parameters, area, volume of the domain; tolerance for both, measured at 24 x 24 nodes a patch.
FAMILIES = {
    "sphere": (ew.Sphere("r"), {"r": 2.0}, 16 * np.pi, 32 * np.pi / 3, 1e-13),
    "ellipsoid": (ew.Ellipsoid(), {"a": 1.0, "b": 2.0, "c": 0.7}, ellipsoid_area(1, 2, 0.7), 5.6 * np.pi / 3, 1e-12),
    "torus": (ew.Torus(2.0, "minor"), {"minor": 0.5}, 4 * np.pi**2, np.pi**2, 1e-13),
    "star": (ew.StarSurface(lambda d, t: 1 + t * d[2]), {"t": 0.2}, None, 4 * np.pi / 3 * (1 + 0.2**2), 1e-13),
    "harmonic": (ew.HarmonicSurface(2), {"coefficients": HARMONIC}, None, None, 1e-13),
    "own patches": (ew.Surface(SHEETS), {}, 6.0, 1.0, 1e-13),
    "one patch": (ew.Surface(ball_patch), {"r": 0.5}, np.pi, np.pi / 6, 1e-13),
    "spheroid of revolution": (
        ew.Revolution(lambda s, h: (jnp.sin(jnp.pi * s), -h * jnp.cos(jnp.pi * s))),
        {"h": 1.5},
        spheroid_area(1.5),
        2 * np.pi,
        1e-13,
    ),
    "can": (ew.Revolution(can, corners=(0.25, 0.75)), {"h": 1.5}, 8 * np.pi, 3 * np.pi, 1e-13),
    "bowl": (
        ew.Revolution(bowl, corners=(0.5,)),
        {"h": 0.8},
        np.pi + np.pi / (6 * 0.8**2) * ((1 + 4 * 0.8**2) ** 1.5 - 1),
        0.4 * np.pi,
        1e-13,
    ),
    "half-balls": (ew.HalfBalls(), {"t": 1e-3}, 6 * np.pi, 4 * np.pi / 3, 1e-13),
    "cuboid": (ew.Cuboid(1.0, 2.0, "c"), {"c": 3.0}, 22.0, 6.0, 1e-13),
    "moved": (
        ew.Translate(ew.Rotate(ew.Scale(ew.Cuboid(1.0, 2.0, 3.0), "k"), "turn", axis=(1, 2, 2)), (5.0, -3.0, 1.0)),
        {"k": 0.5, "turn": 0.7},
        5.5,
        0.75,
        1e-13,
    ),
    "shell": (ew.Union(ew.Sphere("r"), ew.Torus(1.0, 0.3)), {"r": 2.0}, None, 32 * np.pi / 3 - 0.18 * np.pi**2, 1e-13),
}
EACH = pytest.mark.parametrize("name", list(FAMILIES))


@functools.cache
def member(name):
    family, given, *_ = FAMILIES[name]
    values = {key: jnp.asarray(value) for key, value in given.items()}
    nodes = jax.jit(lambda values: family.boundary(*rule(), values))(values)
    return family, values, nodes


def volume(nodes):
    return float(jnp.sum(nodes.weight[:, None] * nodes.x * nodes.normal) / 3)


@EACH
def test_area_volume_and_normals(name, measured):
    family, _, nodes = member(name)
    area, content, tolerance = FAMILIES[name][2:]
    assert isinstance(family, AbstractSurface)
    assert nodes.x.shape == (family.patches * NODES**2, 3)
    assert nodes.components == len(family.bodies)
    assert np.allclose(np.linalg.norm(nodes.normal, axis=1), 1, atol=1e-14)
    assert np.abs(nodes.weight @ nodes.normal).max() < 1e-11 * float(nodes.measure)
    if area is not None:
        measured(f"area of {name}", abs(float(nodes.measure) / area - 1), tolerance)
    if content is not None:
        measured(f"volume of {name}", abs(volume(nodes) / content - 1), tolerance)


@EACH
def test_normals_leave_the_domain(name):
    """By Gauss: ∫ n·(x - y)/|x - y|³ is 4π for y in the domain."""
    nodes = member(name)[2]
    inside = {
        "torus": (2.0, 0.1, 0.1),
        "shell": (0.1, 0.1, 0.9),
        "moved": (5.1, -2.9, 1.1),
        "half-balls": (0.1, 0.2, 0.5),
    }
    d = nodes.x - jnp.array(inside.get(name, (0.05, 0.1, 0.15 if name != "bowl" else 0.5)))
    flux = jnp.sum(nodes.weight * jnp.sum(d * nodes.normal, axis=1) / jnp.linalg.norm(d, axis=1) ** 3)
    assert abs(float(flux) / (4 * np.pi) - 1) < 1e-2


@EACH
def test_points_are_nodes(name):
    family, values, nodes = member(name)
    picked = np.arange(0, len(nodes.x), 97)
    points = jax.jit(jax.vmap(lambda s: family.point(s, **values)))(nodes.s[picked])
    # s + patch rounds.
    assert np.abs(points - nodes.x[picked]).max() < 1e-13
    assert np.all(nodes.s[:, 0] // 1 == np.repeat(np.arange(family.patches), NODES**2))


@EACH
def test_derivatives_are_finite_everywhere(name):
    """Also on sides, at corners and in the middle of patches, where the poles of caps are."""
    family, values, _ = member(name)
    steps = np.array([0.0, 0.5, 1.0])
    s = jnp.asarray(np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2))

    def place(s, values):
        return bind(family, values).atlas(s, values)

    @jax.jit
    @jax.vmap
    def looks(s):
        ways = jax.tree_util.tree_map(jnp.ones_like, (s, values))
        first = lambda s, values: jax.jvp(place, (s, values), ways)
        return jax.jvp(first, (s, values), ways)

    found = looks(s)
    assert all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree_util.tree_leaves(found))
    single = jax.tree_util.tree_map(lambda value: value.astype("float32"), (s, values))
    x = jax.jit(jax.vmap(place, in_axes=(0, None)))(*single)
    assert x.dtype == np.float32
    assert np.abs(x - found[0][0]).max() < 1e-5


def test_second_derivatives_at_the_pole():
    """z = -cos(πs) with s = τ/2, where the coordinates of the disc move like those of the patch."""
    family, values, _ = member("spheroid of revolution")
    hessian = jax.jit(jax.hessian(lambda s: family.point(s, **values)))(jnp.array([0.5, 0.5]))
    expected = np.zeros((3, 2, 2))
    expected[2] = np.eye(2) * values["h"] * np.pi**2 / 4
    assert np.abs(hessian - expected).max() < 1e-8


@EACH
def test_families_close(name):
    family, values, _ = member(name)
    assert closing_gap(family, values).max() < 1e-13


@pytest.mark.parametrize("name", ["ellipsoid", "can", "half-balls", "harmonic"])
def test_area_has_a_derivative(name):
    family, values, _ = member(name)
    key = sorted(values)[0]

    @jax.jit
    def moment(value):
        nodes = family.boundary(*rule(12), {**values, key: value})
        return jnp.sum(nodes.weight * nodes.x[:, 2] ** 2)

    slope, step = jax.jit(jax.grad(moment))(values[key]), 1e-4
    for i in np.ndindex(values[key].shape):
        shift = jnp.zeros_like(values[key]).at[i].set(step)
        difference = (moment(values[key] + shift) - moment(values[key] - shift)) / (2 * step)
        assert abs(float(slope[i] - difference)) < 1e-6


@pytest.mark.parametrize("name", ["can", "half-balls", "cuboid", "torus", "harmonic"])
def test_single_precision_stays(name):
    family, values, nodes = member(name)
    grid, weight = (part.astype("float32") for part in rule(12))
    values = {key: value.astype("float32") for key, value in values.items()}
    single = jax.jit(lambda values: family.boundary(grid, weight, values))(values)
    assert all(leaf.dtype == np.float32 for leaf in jax.tree_util.tree_leaves(single))
    assert abs(float(single.measure / nodes.measure) - 1) < 1e-5
    assert np.abs(np.linalg.norm(single.normal, axis=1) - 1).max() < 1e-5
    assert abs(volume(single) / volume(nodes) - 1) < 1e-4


def test_holes_and_bodies_side_by_side():
    inner = ew.Translate(ew.Sphere(0.3), (0.9, 0.0, 0.0))
    shell = ew.Union(ew.Sphere(1.3), inner)
    pair = ew.Union(ew.Sphere(1.3), ew.Translate(ew.Sphere(0.3), "offset"))
    for family, sign in ((shell, -1), (pair, 1)):
        # Beside it at a distance of 0.001, which no rule resolves.
        values = {} if sign < 0 else {"offset": jnp.array([1.601, 0.0, 0.0])}
        nodes = jax.jit(lambda values, family=family: family.boundary(*rule(8), values))(values)
        second = slice(6 * 64, None)
        centre = nodes.x[second].mean(axis=0)
        assert np.all(sign * np.sum((nodes.x[second] - centre) * nodes.normal[second], axis=1) > 0.29)
        found = arrangement(family, values)
        assert found.holds.tolist() == [[False, sign < 0], [False, False]]
        assert not found.overlaps.any()
        assert clearance(nodes.x, nodes.weight, family.bodies)[0, 1] < (3 if sign < 0 else 0.5)
    dolls = ew.Union(ew.Sphere(3.0), ew.Sphere(2.0), ew.Sphere(1.0))
    nested = jax.jit(lambda: dolls.boundary(*rule(8), {}))()
    outward = np.sum(nodes_by_body(nested.x, 3) * nodes_by_body(nested.normal, 3), axis=-1)
    assert np.all(np.sign(outward) == np.array([[1], [-1], [1]]))


def nodes_by_body(x, bodies):
    return np.asarray(x).reshape(bodies, -1, 3)


def test_bodies_that_overlap():
    pair = ew.Union(ew.Cuboid(), ew.Translate(ew.Sphere(0.5), "offset"))
    for offset, crosses in (((0.9, 0.0, 0.0), True), ((1.05, 0.0, 0.0), False), ((3.0, 0.0, 0.0), False)):
        found = arrangement(pair, {"offset": jnp.array(offset)})
        assert found.overlaps.any() == crosses
        assert not found.holds.any()
    assert arrangement(ew.HalfBalls(), {"t": jnp.array(-0.01)}).overlaps[0, 1]
    # A gap of 0.001, across which the coarse polyhedron of the torus reaches.
    plugged = arrangement(ew.Union(ew.Torus(1.0, 0.5), ew.Sphere(0.499)), {})
    assert not plugged.overlaps.any()
    assert not plugged.holds.any()


@pytest.mark.parametrize(
    "patches",
    [SHEETS[:-1], [FLIPPED, *SHEETS[1:]], [*SHEETS[:-1], lambda s: (s[0], s[1], 0.3)]],
    ids=["missing", "flipped", "astray"],
)
def test_what_does_not_close_is_found(patches):
    assert closing_gap(ew.Surface(*patches), {})[0] > 0.01


def test_gradings_reach_sides_with_the_third_power():
    u = jnp.array([0.0, 1e-3, 0.5, 1 - 1e-3, 1.0])
    for low, high in ((True, True), (True, False), (False, True), (False, False)):
        values, slopes = jax.jit(jax.vmap(jax.value_and_grad(lambda u, low=low, high=high: grade(u, low, high))))(u)
        assert values[0] == 0
        assert values[-1] == 1
        assert (values[1] < 1e-7) == low
        assert (1 - values[-2] < 1e-7) == high
        assert (slopes[0] == 0) == low
        assert (slopes[-1] == 0) == high
    slope = jax.grad(lambda u: grade(u, True, True))(jnp.float32(1 - 2**-10))
    assert abs(float(slope) / (30 * 2**-20 * (1 - 2**-10) ** 2) - 1) < 1e-6


def test_harmonics_are_scipys_and_orthonormal():
    degree = 9
    harmonics = jax.jit(lambda d: real_harmonics(degree, d))
    grid = np.asarray(rule(20)[0])
    polar, around = np.arccos(2 * grid[:, 0] - 1), 2 * np.pi * grid[:, 1]
    d = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=1)
    values = np.asarray(harmonics(jnp.asarray(d)))
    column = 0
    for order in range(degree + 1):
        for m in range(-order, order + 1):
            theirs = sp.sph_harm_y(order, abs(m), polar, around)
            part = theirs.real if m >= 0 else theirs.imag
            expected = (-1) ** m * (np.sqrt(2) if m else 1) * part
            assert np.abs(values[:, column] - expected).max() < 1e-13
            column += 1
    assert column == values.shape[1]
    # Of radius 2.
    nodes = member("sphere")[2]
    here = harmonics(nodes.x / 2) / 2
    assert np.abs(here.T @ (nodes.weight[:, None] * here) - np.eye(column)).max() < 1e-11
    pole = jnp.array([0.0, 0.0, 1.0])
    assert np.all(np.isfinite(jax.jit(jax.hessian(lambda d: real_harmonics(4, d)))(pole)))


CIRCLE, SPHERE = ew.Ellipse(1.0, 1.0), ew.Sphere()
REFUSED = {
    "radius": (lambda: ew.Sphere(-1), "`radius` must be positive, got -1.0"),
    "semi-axis": (lambda: ew.Ellipsoid(1, 0, 1), "Semi-axis `b` must be positive, got 0.0"),
    "thick torus": (lambda: ew.Torus(1.0, 1.5), r"expected minor < major, got major = 1.0, minor = 1.5\. Write"),
    "side": (lambda: ew.Cuboid(c=-2), "Side `c` must be positive, got -2.0"),
    "halves that touch": (lambda: ew.HalfBalls(0.0), r"got 0.0: the halves touch.*use `Sphere\(\)`"),
    "no patches": (lambda: ew.Surface(), r"at least one patch, got none\. Write `Surface"),
    "not a patch": (lambda: ew.Surface(3), "must be a function of `s` and named parameters, got 3"),
    "unknown side": (lambda: ew.Patch(lambda s: s, edges=("w1",)), r"among u0, u1, v0, v1.*got 'w1'\. Write"),
    "plane patch": (lambda: ew.Surface(lambda s: s).point((0.5, 0.5)), r"returned shape \(2,\).*expected the three"),
    "vector radius": (
        lambda: ew.StarSurface(lambda d: d).point((0.5, 0.5)),
        r"returned shape \(3,\) for one `d`; expected one",
    ),
    "degree": (lambda: ew.HarmonicSurface(-1), "whole number of at least 0, got -1"),
    "coefficients": (lambda: ew.HarmonicSurface(1, jnp.ones(3)).point((0.5, 0.5)), r"shape \(3,\); expected \(4,\)"),
    "corners": (lambda: ew.Revolution(can, corners=(0.0, 0.5)), r"ascend between 0 and 1, the poles, got \(0.0, 0.5\)"),
    "corners in words": (lambda: ew.Revolution(can, corners=0.5), r"numbers between 0 and 1, got 0.5\. Write"),
    "profile": (
        lambda: ew.Revolution(lambda s: s).point((0.5, 0.5)),
        r"returned shape \(\) for one `s`; expected r and z",
    ),
    "one coordinate": (lambda: SPHERE.point(0.5), r"two coordinates, got `s` of shape \(\); expected \(2,\)"),
    "mixed": (lambda: ew.Union(SPHERE, CIRCLE), "curves or of surfaces, not of both"),
    "not a surface": (lambda: ew.Union(SPHERE, 3), "made of surfaces, got 3"),
    "one surface": (lambda: ew.Union(SPHERE), "at least two surfaces, got 1"),
    "axis in the plane": (lambda: ew.Rotate(CIRCLE, 0.3, axis=(0, 0, 1)), r"`axis` is for surfaces, got \(0, 0, 1\)"),
    "axis of length 0": (lambda: ew.Rotate(SPHERE, 0.3, axis=(0, 0, 0)), "three numbers, not all zero"),
    "short offset": (lambda: ew.Translate(SPHERE, (1.0, 2.0)), "`offset` must be three numbers"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refusals(case):
    call, words = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=words):
        call()
