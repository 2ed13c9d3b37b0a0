"""Space: spheres against Mie's series, point sources inside bodies of every shape, half-balls against stored scattering."""

import halfballs
import jax
import jax.numpy as jnp
import mie
import numpy as np
import pytest
from space import (
    HELMHOLTZ,
    INCIDENCE,
    LAPLACE,
    SHAPES,
    WAVENUMBERS,
    at,
    directions,
    near_points,
    sources,
    worst,
)

import edgewise as ew

BODIES = {"soft": ew.Dirichlet(), "hard": ew.Neumann()}
SPHERES = {
    body: ew.Problem(
        ew.Sphere(),
        ew.Box(**WAVENUMBERS),
        ew.CombinedField(HELMHOLTZ),
        ew.PlaneWave("direction"),
        "exterior",
        condition,
    )
    for body, condition in BODIES.items()
}
# Wavenumber, nodes along a side of a patch, what is asked of far field and field.
FEW_WAVES = [(1.0, 8, 1e-8, 7e-5)]
SOFT = [(1.0, 12, 1e-10, 1e-6), (np.pi, 14, 1e-10, 1e-6), (2 * np.pi, 18, 1e-10, 1e-6), (10.0, 22, 1e-10, 1e-6)]
HARD = [(1.0, 12, 1e-8, 1e-4), (np.pi, 12, 1e-8, 1e-4), (2 * np.pi, 16, 1e-8, 1e-4), (10.0, 20, 1e-8, 1e-4)]


@pytest.mark.xdist_group("waves in space")
@pytest.mark.parametrize(
    ("body", "cases"),
    [
        pytest.param("soft", FEW_WAVES, id="soft-small"),
        pytest.param("hard", [(1.0, 8, 4e-8, 5e-5)], id="hard-small"),
        *(pytest.param("soft", [case], id=f"soft-{case[0]:.3g}", marks=pytest.mark.slow) for case in SOFT),
        *(pytest.param("hard", [case], id=f"hard-{case[0]:.3g}", marks=pytest.mark.slow) for case in HARD),
    ],
)
def test_sphere_against_mie(body, cases, measured):
    """Up to 1e-6 from the surface."""
    points, seen = near_points(ew.Sphere(), "exterior", farthest=2.0), directions(60)
    for k, nodes, far_bound, bound in cases:
        solution = ew.solve(SPHERES[body], quadrature=ew.Duffy(nodes), k=k, direction=INCIDENCE)
        hard = body == "hard"
        far = worst(solution.far_field(seen), mie.far_field(k, seen, INCIDENCE, hard))
        field = worst(solution(points), mie.scattered(k, points, INCIDENCE, hard))
        section = float(abs(solution.cross_section() / mie.cross_section(k, hard) - 1))
        case = f"sphere, {body}, k = {k:.3g}, Duffy({nodes})"
        measured(f"{case}, far field", far, far_bound)
        measured(f"{case}, cross-section", section, far_bound)
        measured(f"{case}, field", field, bound)


REPRESENTATIONS = {
    "single": ew.SingleLayer(LAPLACE),
    "double": ew.DoubleLayer(LAPLACE),
    "direct": ew.Direct(LAPLACE),
    "waves": ew.CombinedField(HELMHOLTZ),
}
K = 3.0


def resistance(x):
    return 1 + 0.3 * x[0]


CONDITIONS = {"dirichlet": ew.Dirichlet(), "neumann": ew.Neumann(), "robin": ew.Robin(resistance)}


def manufactured(shape, representation, condition="dirichlet", side="exterior"):
    """A problem that point sources on the other side solve, and their field."""
    family, inside, outside = SHAPES[shape]
    waves = representation == "waves"
    field = sources(ew.Helmholtz(3, K) if waves else LAPLACE, inside if side == "exterior" else outside)
    flux = lambda x, normal: jax.jacfwd(field)(x) @ normal
    data = {
        "dirichlet": field,
        "neumann": flux,
        "robin": lambda x, normal: flux(x, normal) + resistance(x) * field(x),
    }[condition]
    box = ew.Box(k=(0.1, 20.0)) if waves else None
    return ew.Problem(family, box, REPRESENTATIONS[representation], data, side, CONDITIONS[condition]), field


def check_manufactured(shape, representation, condition, side, nodes, bound, measured):
    problem, field = manufactured(shape, representation, condition, side)
    solution = ew.solve(problem, quadrature=ew.Duffy(*nodes), **({"k": K} if representation == "waves" else {}))
    points = near_points(problem.family, side)
    found, true = np.asarray(solution(points)), at(field, points)
    if condition == "neumann" and side == "interior":
        # A constant is free.
        found, true = found - found.mean(), true - true.mean()
    measured(
        f"{shape}, {representation}, {condition}, {side}, Duffy({', '.join(map(str, nodes))})",
        worst(found, true),
        bound,
    )
    return solution, field


# Nodes along the sides of panels, and these along those of a patch, for errors below 1e-5, measured; of an ellipsoid of aspect 3
# the largest patch is 3 across.
ENOUGH = {"sphere": (12,), "ellipsoid": (16, 2), "torus": (14, 2), "star": (14,)}


@pytest.mark.xdist_group("Laplace in space")
@pytest.mark.parametrize(
    ("shape", "nodes", "bound"),
    [
        pytest.param("star", (8,), 2e-4, id="small"),
        *(pytest.param(shape, nodes, 1e-5, id=shape, marks=pytest.mark.slow) for shape, nodes in ENOUGH.items()),
    ],
)
@pytest.mark.parametrize(
    "representation", ["direct", *(pytest.param(other, marks=pytest.mark.slow) for other in ("single", "double"))]
)
def test_charges_inside(shape, representation, nodes, bound, measured):
    check_manufactured(shape, representation, "dirichlet", "exterior", nodes, bound, measured)


@pytest.mark.xdist_group("waves in space")
@pytest.mark.parametrize(
    ("shape", "nodes", "bound"),
    [
        pytest.param("star", (8,), 1e-3, id="small"),
        *(pytest.param(shape, nodes, 1e-5, id=shape, marks=pytest.mark.slow) for shape, nodes in ENOUGH.items()),
    ],
)
def test_sources_of_waves_inside(shape, nodes, bound, measured):
    check_manufactured(shape, "waves", "dirichlet", "exterior", nodes, bound, measured)


INNER = [("sphere", "direct"), ("sphere", "single"), ("sphere", "double"), ("star", "direct"), ("sphere", "waves")]


@pytest.mark.xdist_group("Laplace in space")
@pytest.mark.parametrize(
    ("shape", "representation", "nodes", "bound"),
    [
        pytest.param("sphere", "direct", (8,), 1e-3, id="small"),
        *(pytest.param(*case, (14,), 1e-5, id="-".join(case), marks=pytest.mark.slow) for case in INNER),
    ],
)
def test_charges_outside(shape, representation, nodes, bound, measured):
    check_manufactured(shape, representation, "dirichlet", "interior", nodes, bound, measured)


@pytest.mark.xdist_group("Laplace in space")
@pytest.mark.parametrize(
    ("shape", "representation", "nodes", "bound"),
    [
        pytest.param("sphere", "direct", (8,), 1e-3, id="small", marks=pytest.mark.slow),
        *(
            pytest.param(shape, representation, (14,), 1e-5, id=f"{shape}-{representation}", marks=pytest.mark.slow)
            for shape in ("sphere", "star")
            for representation in ("single", "direct")
        ),
    ],
)
@pytest.mark.parametrize("side", ["interior", "exterior"])
@pytest.mark.parametrize("condition", ["neumann", "robin"])
def test_fluxes(shape, representation, condition, side, nodes, bound, measured):
    check_manufactured(shape, representation, condition, side, nodes, bound, measured)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["interior", "exterior"])
def test_gradients_next_to_the_surface(side, measured):
    solution, field = check_manufactured("star", "direct", "dirichlet", side, (14,), 1e-5, measured)
    points = near_points(solution.problem.family, side)
    found, true = solution.gradient(points), at(jax.jacfwd(field), points)
    measured(f"star, direct, {side}, gradient", worst(found, true), 1e-3)


HALVES = ew.Problem(
    ew.HalfBalls(),
    ew.Box(t=(0.01, 0.5), **WAVENUMBERS),
    ew.CombinedField(HELMHOLTZ),
    ew.PlaneWave("direction"),
    "exterior",
)
AXIAL, TRANSVERSE = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
# Azimuths at which transverse far fields are looked at.
PHI = np.linspace(0.0, np.pi, 5)


def halves(nodes, **parameters):
    return ew.solve(HALVES, quadrature=ew.Duffy(nodes), k=halfballs.WAVENUMBER, **parameters)


def far_of_halves(solution):
    """At the reference's θ, for every φ: (φ, θ)."""
    theta, phi = np.broadcast_arrays(halfballs.reference().theta, PHI[:, None])
    seen = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    return np.asarray(solution.far_field(seen))


@pytest.mark.xdist_group("half-balls")
@pytest.mark.parametrize(
    ("indices", "nodes", "bounds"),
    [
        # Along the gap a wave meets more of its edges.
        pytest.param((2,), 8, (2e-3, 1e-2), id="small"),
        pytest.param(range(4), 12, (1e-4, 1e-4), id="full", marks=pytest.mark.slow),
    ],
)
def test_half_balls_against_stored_scattering(indices, nodes, bounds, measured):
    stored = halfballs.reference()
    for i in indices:
        t = float(stored.t[i])
        true = {
            "axial": np.broadcast_to(stored.far_axial[i], (len(PHI), len(stored.theta))),
            "transverse": stored.far_transverse(i, stored.theta, PHI[:, None]),
        }
        for name, direction, bound in zip(true, (AXIAL, TRANSVERSE), bounds, strict=True):
            found = far_of_halves(halves(nodes, t=t, direction=direction))
            error = float(halfballs.relative_l2(np.tile(stored.weights, len(PHI)), found.ravel(), true[name].ravel()))
            measured(f"half-balls, t = {t}, {name}, Duffy({nodes})", error, bound)


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.05, 0.265])
def test_half_balls_against_their_own_refinement(t, measured):
    weights = np.tile(halfballs.reference().weights, len(PHI))
    for name, direction in (("axial", AXIAL), ("transverse", TRANSVERSE)):
        found, finer = (far_of_halves(halves(nodes, t=t, direction=direction)).ravel() for nodes in (12, 16))
        measured(f"half-balls, t = {t}, {name}", float(halfballs.relative_l2(weights, found, finer)), 1e-4)


@pytest.mark.slow
def test_total_field_about_half_balls(measured):
    stored = halfballs.reference()
    for t, true in zip(stored.t, stored.slice_total, strict=True):
        # On the surface itself rounding decides which side a point is on.
        x, _, z = stored.slice_points.T
        apart = np.abs(np.hypot(x, np.maximum(np.abs(z) - t, 0)) - 1) > 1e-9
        apart &= (np.abs(np.abs(z) - t) > 1e-9) | (np.abs(x) > 1 + 1e-9)
        total = np.asarray(halves(12, t=float(t), direction=AXIAL).total(stored.slice_points))
        assert np.array_equal(np.isnan(total[apart]), np.isnan(true[apart]))
        kept = apart & ~np.isnan(true)
        error = float(halfballs.relative_l2(1.0, total[kept], true[kept]))
        measured(f"half-balls, t = {t}, total field", error, 1e-3)


@pytest.mark.slow
def test_charge_in_a_cuboid(measured):
    """Densities grow like a power of the distance from edges and corners, to which nodes crowd."""
    field = sources(LAPLACE, [(0.05, -0.1, 0.1)], [1.0])
    problem = ew.Problem(ew.Cuboid(1.0, 1.0, 1.0), None, ew.SingleLayer(LAPLACE), field, "exterior")
    solution = ew.solve(problem, quadrature=ew.Duffy(12, panels=2))
    points = points_about_a_cube()
    measured("cube, single layer, Duffy(12, panels=2)", worst(solution(points), at(field, points)), 1e-4)


def points_about_a_cube():
    """Over faces, an edge and a corner, 1e-6 to 0.3 away."""
    rng = np.random.default_rng(0)
    over = np.stack([*rng.uniform(-0.49, 0.49, (2, 24)), 0.5 + 10 ** rng.uniform(-6, -0.5, 24)], axis=1)
    beyond = 10 ** np.linspace(-6, -0.5, 8)[:, None]
    edge, corner = [0.5, 0.5, 0.15] + beyond * [1, 1, 0], [0.5, 0.5, 0.5] + beyond * [1, 1, 1]
    return np.concatenate([over, np.roll(over, 1, axis=1), -over, edge, corner])


@pytest.mark.xdist_group("waves in space")
def test_matrix_free_gmres_gives_what_the_direct_solve_gives():
    seen = directions(20)
    given = {"quadrature": ew.Duffy(8), "k": 1.0, "direction": INCIDENCE}
    direct = ew.solve(SPHERES["soft"], **given).far_field(seen)
    krylov = ew.solve(SPHERES["soft"], **given, method="gmres", chunk=100, tol=1e-10)
    assert 3 < krylov.stats["applications"] < 60
    assert worst(krylov.far_field(seen), direct) < 1e-9


@pytest.mark.xdist_group("waves in space")
def test_batch():
    wavenumbers, seen = jnp.array([1.0, 2.0, 1.5]), directions(7)
    batch = ew.solve(SPHERES["soft"], quadrature=ew.Duffy(8), k=wavenumbers, direction=INCIDENCE)
    alone = ew.solve(SPHERES["soft"], quadrature=ew.Duffy(8), k=2.0, direction=INCIDENCE)
    assert len(batch) == 3 and len(list(batch)) == 3
    assert batch.far_field(seen).shape == (3, 7) and batch.cross_section().shape == (3,)
    assert worst(batch.far_field(seen)[1], alone.far_field(seen)) < 1e-12
    assert worst(batch[1].far_field(seen), alone.far_field(seen)) < 1e-12
    points = 1.5 * seen.reshape(7, 1, 3)
    assert batch(points).shape == (3, 7, 1)
    assert worst(batch[-1](points)[:, 0], mie.scattered(1.5, points[:, 0], INCIDENCE)) < 1e-6
    with pytest.raises(IndexError, match="Member 3 of a batch of 3"):
        batch[3]
