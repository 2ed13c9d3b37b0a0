"""Space, answers from mathematics: Gauss's and Green's identities, eigenvalues on the sphere, energy, reciprocity, derivatives."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import spherical_jn, spherical_yn
from space import COEFFICIENTS, HELMHOLTZ, INCIDENCE, LAPLACE, WAVENUMBERS, at, directions, near_points, sources, worst

import edgewise as ew
from edgewise.special import real_harmonics


def can(s):
    """A cylinder of radius 1 and height 2, with its lids."""
    wall = (s > 0.25) & (s < 0.75)
    r = jnp.where(wall, 1.0, 4 * jnp.minimum(s, 1 - s))
    return r, jnp.where(wall, 4 * (s - 0.5), jnp.where(s < 0.5, -1.0, 1.0))


# Family, nodes along a side of a patch; what Gauss's and Green's identities miss there, measured, times 3.
FAMILIES = {
    "sphere": (ew.Sphere(1.3), 8, 1e-7, 3e-5),
    "ellipsoid": (ew.Ellipsoid(1.3, 1.0, 0.7), 8, 1e-7, 1e-5),
    "star": (ew.StarSurface(lambda d: 1 + 0.2 * d[2] ** 3), 8, 2e-7, 2e-5),
    "harmonic": (ew.HarmonicSurface(2, jnp.asarray(COEFFICIENTS)), 8, 2e-7, 2e-4),
    "torus": (ew.Torus(1.0, 0.5), 10, 1e-7, 1e-5),
    "moved": (ew.Translate(ew.Rotate(ew.Sphere(0.8), 0.4, axis=(1, 2, 2)), (0.3, 0.1, -0.2)), 8, 1e-7, 2e-6),
    "two bodies": (ew.Union(ew.Sphere(1.0), ew.Translate(ew.Sphere(0.5), (1.8, 0.0, 0.0))), 8, 8e-5, 1e-4),
    # With edges: what nodes within 1e-5 of one miss of the face across it.
    "cuboid": (ew.Cuboid(1.0, 1.2, 0.8), 8, 2e-3, 4e-3),
    "half-balls": (ew.HalfBalls(0.3), 10, 1.5e-3, 3e-3),
    "can": (ew.Revolution(can, corners=(0.25, 0.75)), 10, 1e-3, 2e-3),
}
QUICK = ("sphere",)
EACH = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in FAMILIES]
)
THREE = ("single", "double", "adjoint_double")


def layers(family, nodes, kernel=LAPLACE):
    rule = ew.Duffy(nodes)
    on = rule.discretise(family, {}, np.float64)
    batch = jax.tree_util.tree_map(lambda leaf: leaf[None], on)
    ready = jax.tree_util.tree_map(lambda leaf: leaf[0], batch.with_pairs(batch, None))
    return on.boundary, *(np.asarray(matrix) for matrix in ready.layers(kernel, *THREE))


@functools.cache
def of(name):
    return layers(*FAMILIES[name][:2])


@pytest.mark.xdist_group("identities in space")
@EACH
def test_gauss(name, measured):
    """D 1 = -1/2 on the surface, and D' takes half of every charge: ∫ D' φ = -∫ φ / 2."""
    boundary, _, double, adjoint = of(name)
    defect = float(np.abs(double.sum(axis=1) + 0.5).max())
    smooth = 1 + np.asarray(boundary.x) @ [0.3, -0.2, 0.5]
    total = boundary.weight @ (adjoint @ smooth) + boundary.weight @ smooth / 2
    measured(f"{name}: Gauss", defect, FAMILIES[name][2])
    measured(f"{name}: Gauss, adjoint", float(abs(total) / (boundary.weight @ smooth)), FAMILIES[name][2])


@pytest.mark.xdist_group("identities in space")
@EACH
def test_green(name, measured):
    """S ∂u/∂n = (1/2 + D) u for a charge outside."""
    boundary, single, double, _ = of(name)
    field = sources(LAPLACE, [(3.0, 1.0, 1.0)], [1.0])
    u = at(field, boundary.x)
    flux = np.sum(at(jax.grad(field), boundary.x) * np.asarray(boundary.normal), axis=-1)
    measured(f"{name}: Green", worst(single @ flux - double @ u, u / 2), FAMILIES[name][3])


@pytest.mark.xdist_group("identities in space")
@pytest.mark.parametrize(
    ("nodes", "degree", "bound"),
    [pytest.param(8, 3, 2e-5, id="small"), pytest.param(14, 5, 2e-8, id="full", marks=pytest.mark.slow)],
)
def test_eigenvalues_on_a_sphere(nodes, degree, bound, measured):
    """Of radius r: S Y_l = r Y_l / (2l + 1), D Y_l = D' Y_l = -Y_l / (2 (2l + 1))."""
    radius = 1.3
    boundary, single, double, adjoint = of("sphere") if nodes == 8 else layers(ew.Sphere(radius), nodes)
    harmonics = np.asarray(real_harmonics(degree, boundary.x / radius))
    order = np.repeat(np.arange(degree + 1), 2 * np.arange(degree + 1) + 1)
    case = f"sphere, Duffy({nodes}), eigenvalues up to l = {degree}"
    measured(f"{case}: S", worst(single @ harmonics, harmonics * radius / (2 * order + 1)), bound)
    for layer, matrix in (("D", double), ("D'", adjoint)):
        measured(f"{case}: {layer}", worst(matrix @ harmonics, -harmonics / (4 * order + 2)), bound)


@pytest.mark.xdist_group("identities in space")
@pytest.mark.parametrize(
    ("nodes", "degree", "bound"),
    [pytest.param(8, 2, 1e-5, id="small"), pytest.param(14, 4, 1e-8, id="full", marks=pytest.mark.slow)],
)
def test_eigenvalues_of_waves_on_a_sphere(nodes, degree, bound, measured):
    """Of radius r: S Y_l = ik r² j_l(kr) h_l(kr) Y_l, D Y_l = D' Y_l = (ik² r² (j_l h_l)'/2) Y_l."""
    radius, k = 1.3, 2.0
    boundary, single, double, adjoint = layers(ew.Sphere(radius), nodes, ew.Helmholtz(3, k))
    harmonics = np.asarray(real_harmonics(degree, boundary.x / radius))
    order = np.repeat(np.arange(degree + 1), 2 * np.arange(degree + 1) + 1)
    j, slope = (spherical_jn(order, k * radius, derivative) for derivative in (False, True))
    h, h_slope = (part + 1j * spherical_yn(order, k * radius, d) for part, d in ((j, False), (slope, True)))
    case = f"sphere, waves, Duffy({nodes}), eigenvalues up to l = {degree}"
    measured(f"{case}: S", worst(single @ harmonics, harmonics * (1j * k * radius**2 * j * h)), bound)
    both = 0.5j * (k * radius) ** 2 * (slope * h + j * h_slope)
    for layer, matrix in (("D", double), ("D'", adjoint)):
        measured(f"{case}: {layer}", worst(matrix @ harmonics, harmonics * both), bound)


@pytest.mark.slow
def test_fields_that_decay(measured):
    kernel = ew.ModifiedHelmholtz(3, 2.0)
    for side, place in (("exterior", (0.2, 0.1, -0.1)), ("interior", (2.0, 1.0, 0.5))):
        field = sources(kernel, [place], [1.0])
        problem = ew.Problem(ew.Sphere(), None, ew.SingleLayer(kernel), field, side)
        points = near_points(problem.family, side)
        found = ew.solve(problem, quadrature=ew.Duffy(14))(points)
        measured(f"sphere, screened, {side}", worst(found, at(field, points)), 1e-5)


def scattering(family, **box):
    box = ew.Box(**{**WAVENUMBERS, **box})
    return ew.Problem(family, box, ew.CombinedField(HELMHOLTZ), ew.PlaneWave("direction"), "exterior")


@pytest.mark.xdist_group("waves in space")
@pytest.mark.parametrize(
    ("family", "k", "nodes", "bound"),
    [
        pytest.param(ew.Ellipsoid(1.3, 1.0, 0.7), 1.0, 8, 5e-8, id="small"),
        pytest.param(ew.Ellipsoid(1.3, 1.0, 0.7), 4.0, 16, 1e-10, id="ellipsoid", marks=pytest.mark.slow),
        pytest.param(ew.HalfBalls(0.2), 4.0, 12, 1e-6, id="half-balls", marks=pytest.mark.slow),
    ],
)
def test_energy_and_reciprocity(family, k, nodes, bound, measured):
    """Optical theorem: σ = (4π/k) Im u_inf(d); reciprocity: u_inf(x; d) = u_inf(-d; -x)."""
    first, second = directions(2)
    both = ew.solve(scattering(family), quadrature=ew.Duffy(nodes), k=k, direction=np.stack([first, -second]))
    far = np.asarray(both.far_field(np.stack([second, -first, first])))
    case = f"{type(family).__name__}, Duffy({nodes})"
    measured(
        f"{case}, optical theorem", float(abs(4 * np.pi / k * far[0, 2].imag / both.cross_section()[0] - 1)), bound
    )
    measured(f"{case}, reciprocity", float(abs(far[0, 0] - far[1, 1]) / np.abs(far).max()), bound)


# Problem, member, nodes along a side of a patch: while JAX traces, another choice of close pairs makes another error of the rule, which
# differences must not notice.
DERIVATIVES = {
    "ellipsoid": (
        scattering(ew.Ellipsoid(), a=(0.9, 1.3), b=(0.9, 1.3), c=(0.9, 1.3), k=(0.5, 4.0)),
        {"a": 1.1, "b": 0.95, "c": 1.2, "k": 2.0},
        6,
    ),
    "half-balls": (scattering(ew.HalfBalls(), t=(0.1, 0.5), k=(0.5, 4.0)), {"t": 0.3, "k": 2.0}, 8),
}
ACROSS = np.cross(INCIDENCE, (1.0, 0.0, 0.0))


def far_of(name):
    problem, start, nodes = DERIVATIVES[name]
    seen = jnp.asarray(directions(3))
    start = {key: jnp.asarray(value) for key, value in start.items()} | {"angle": jnp.asarray(0.0)}

    @jax.jit
    def turned(angle):
        direction = INCIDENCE + angle * ACROSS
        return direction / jnp.linalg.norm(direction)

    def far(values):
        values = dict(values)
        direction = turned(values.pop("angle"))
        return ew.solve(problem, quadrature=ew.Duffy(nodes), direction=direction, **values).far_field(seen)

    return far, start


def difference(function, start, ways, step=1e-3):
    """Of fourth order, along one way."""
    moved = lambda h: function({key: start[key] + h * ways[key] for key in start})
    return (moved(-2 * step) - 8 * moved(-step) + 8 * moved(step) - moved(2 * step)) / (12 * step)


@pytest.mark.slow
@pytest.mark.xdist_group("derivatives in space")
@pytest.mark.parametrize("name", ["ellipsoid", pytest.param("half-balls", marks=pytest.mark.slow)])
def test_derivative_of_the_far_field(name, measured):
    """Forwards, along a way that changes shape, wavenumber and direction at once."""
    far, start = far_of(name)
    ways = {key: jnp.asarray(factor) for key, factor in zip(start, (1.0, -0.7, 0.5, 0.8, 0.6), strict=False)}
    slope = jax.jvp(far, (start,), (ways,))[1]
    measured(f"{name}: derivative of the far field", worst(slope, difference(far, start, ways)), 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(DERIVATIVES))
def test_gradient_of_a_loss(name, measured):
    """Backwards, in every parameter by itself."""
    far, start = far_of(name)
    loss = lambda values: jnp.sum(jnp.abs(far(values)) ** 2)
    slopes = jax.grad(loss)(start)
    for key, slope in slopes.items():
        ways = {other: jnp.asarray(1.0 * (other == key)) for other in start}
        error = abs(slope - difference(loss, start, ways)) / loss(start)
        measured(f"{name}: gradient in {key}", float(error), 1e-5)
