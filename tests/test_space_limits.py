"""Space: what is refused and in which words, points on the wrong side, and how much memory evaluation takes."""

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from space import HELMHOLTZ, INCIDENCE, LAPLACE, WAVENUMBERS

import edgewise as ew

SPHERE, CIRCLE = ew.Sphere(), ew.Ellipse(1.0, 1.0)
SINGLE = ew.SingleLayer(LAPLACE)
# Five faces of a cube.
OPEN = ew.Surface(
    [
        lambda s, axis=axis, sign=sign: (
            np.roll(np.eye(3), axis, axis=0).T @ jnp.stack([jnp.asarray(sign / 2), s[0] - 0.5, sign * (s[1] - 0.5)])
        )
        for axis, sign in ((0, 1), (0, -1), (1, 1), (1, -1), (2, 1))
    ]
)


def laplace(family, representation=SINGLE, side="exterior", condition=None, **more):
    return ew.Problem(family, None, representation, lambda x: 1.0, side, condition, **more)


def waves(family=SPHERE, **box):
    box = ew.Box(**WAVENUMBERS, **box)
    return ew.Problem(family, box, ew.CombinedField(HELMHOLTZ), ew.PlaneWave("direction"), "exterior")


def pair(distance, second=SPHERE):
    return ew.Union(SPHERE, ew.Translate(second, (distance, 0.0, 0.0)))


REFUSED = {
    "half-balls that touch": (
        lambda: ew.solve(waves(ew.HalfBalls(), t=(0.0, 0.5)), k=1.0, t=0.0),
        r"Bodies 0 and 1 (overlap|touch) at .*t=0\.0; expected bodies apart.*`Sphere\(\)`",
    ),
    "half-balls that overlap": (
        lambda: ew.solve(waves(ew.HalfBalls(), t=(-0.1, 0.5)), k=1.0, t=-0.05),
        r"Bodies 0 and 1 overlap at .*t=-0\.05; expected bodies apart",
    ),
    "overlap": (lambda: ew.solve(laplace(pair(1.0))), "Bodies 0 and 1 overlap; expected bodies apart from each other"),
    "one in the other": (
        lambda: ew.solve(laplace(pair(0.1, ew.Sphere(0.5)))),
        'Body 1 of the `Union` lies inside body 0.*Write `side="interior"`',
    ),
    "no hole": (
        lambda: ew.solve(laplace(pair(3.0), side="interior")),
        'Body . of the `Union` is no hole in body .*write `side="exterior"`',
    ),
    "a missing patch": (lambda: ew.solve(laplace(OPEN)), "The surface does not close.*one may be missing"),
    "no direction": (
        lambda: ew.PlaneWave((0.0, 0.0, 0.0)),
        r"must be a unit vector, got one of length 0\. It points nowhere",
    ),
    "no direction as parameter": (
        lambda: ew.solve(waves(), k=1.0, direction=(0.0, 0.0, 0.0)),
        "`direction` must be a unit vector, got one of length 0; it points nowhere",
    ),
    "no wavenumber": (lambda: ew.Helmholtz(3, 0.0), r"wavenumber of `Helmholtz` is 0\.0.*Use `Laplace\(dim=3\)`"),
    "a rule for curves": (
        lambda: ew.solve(waves(), k=1.0, quadrature=ew.Kress(64)),
        r"`Kress` is no rule for surfaces.*Write `quadrature=Duffy\(12\)`",
    ),
    "a rule for surfaces": (
        lambda: ew.solve(laplace(CIRCLE, ew.SingleLayer(ew.Laplace(2)), "interior"), quadrature=ew.Duffy(8)),
        r"`Duffy` is no rule for curves.*Write `quadrature=Kress\(256\)`",
    ),
    "a number for a rule": (
        lambda: ew.solve(laplace(SPHERE), quadrature=12),
        r"`quadrature` must be a rule, got 12\. Write `quadrature=Duffy\(12\)`",
    ),
    "few nodes": (lambda: ew.Duffy(3), r"`num_nodes` must be a whole number of at least 4, got 3\. Write"),
    "no panels": (lambda: ew.Duffy(8, panels=0), r"`panels` must be a whole number of at least 1, got 0\. Write"),
    "hypersingular": (
        lambda: laplace(SPHERE, ew.DoubleLayer(LAPLACE), condition=ew.Neumann()),
        r"DoubleLayer with Neumann data.*hypersingular.*Use `SingleLayer\(kernel\)`",
    ),
    "charges of several bodies": (
        lambda: laplace(pair(3.0), ew.DoubleLayer(LAPLACE)),
        r"several bodies cannot work.*Use `SingleLayer\(kernel\)`",
    ),
    "at infinity": (
        lambda: laplace(SPHERE, at_infinity=1.0),
        "`at_infinity=1.0` is for the plane; in space fields vanish at infinity.*Leave it out",
    ),
    "a kernel of the plane": (
        lambda: laplace(SPHERE, ew.SingleLayer(ew.Laplace(2))),
        r"dimension 3, the kernel in dimension 2.*Write `Laplace\(dim=3\)`",
    ),
    "data that are infinite": (
        lambda: ew.solve(
            ew.Problem(SPHERE, None, SINGLE, lambda x: 1 / (0 * x[0]), "exterior"), quadrature=ew.Duffy(8)
        ),
        "`data` is inf at x = .*expected finite values on the whole boundary",
    ),
    "many radii": (
        lambda: ew.Sphere([1.0, 2.0]),
        r"`radius` must be one number or a parameter's name, got an array of shape \(2,\): `Sphere\(2\.0\)`",
    ),
    # With nodes too few for the density: that is not what is wrong.
    "flux that goes nowhere": (
        lambda: ew.solve(
            ew.Problem(SPHERE, None, SINGLE, lambda x: 1 + jnp.exp(3 * x[0]), "interior", ew.Neumann()),
            quadrature=ew.Duffy(5),
        ),
        "integral",
    ),
    "learning": (lambda: ew.fit(waves(), None), r"`recipe` must be a name or a `Recipe`, got None"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refusals(case):
    call, words = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=words):
        call()


@pytest.fixture(scope="module")
def solution():
    return ew.solve(waves(), quadrature=ew.Duffy(8), k=1.0, direction=INCIDENCE)


WRONG = {
    "points of the plane": (lambda s: s(jnp.zeros((4, 2))), r"`points` has shape \(4, 2\); expected \(\.\.\., 3\)"),
    "long directions": (
        lambda s: s.far_field((0.0, 0.0, 2.0)),
        r"unit vectors, got one of length 2\. Write `directions /",
    ),
    "inside": (
        lambda s: s(jnp.array([[0.1, 0.2, 0.3], [2.0, 0.0, 0.0]]), outside="error"),
        r'1 of 2 points lie on the wrong side.*\[0\.1, 0\.2, 0\.3\]; the problem is "exterior"',
    ),
    "length": (len, "A solution of one member has no length"),
}


@pytest.mark.xdist_group("waves in space")
@pytest.mark.parametrize("case", list(WRONG))
def test_solutions_refuse(solution, case):
    call, words = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=words):
        call(solution)


@pytest.mark.xdist_group("waves in space")
def test_points_inside_are_nan(solution):
    along = np.array([0.1, 0.9, 1 - 1e-6, 1 + 1e-6, 1.5])
    values = solution(along[:, None] * INCIDENCE)
    assert np.array_equal(np.isnan(values), along < 1)
    total = np.asarray(solution.total(along[:, None] * INCIDENCE))
    assert np.array_equal(np.isnan(total.real), along < 1) and np.array_equal(np.isnan(total.imag), along < 1)
    # On the surface itself, where the total field is zero.
    assert np.abs(solution.total(solution.boundary.x[::50])).max() < 1e-4


@pytest.mark.xdist_group("waves in space")
def test_too_few_nodes_for_the_waves():
    solution = ew.solve(waves(), quadrature=ew.Duffy(8), k=15.0)
    assert not solution.result.ok
    words = solution.result.message
    assert "not resolved" in words and "nodes along each side of a patch should be enough" in words
    assert int(solution.result.needed) > 15


MEMORY = """
import resource, sys
import jax, jax.numpy as jnp, numpy as np
import edgewise as ew
from edgewise.potentials import Strengths
ew.enable_x64()
panels, count, chunk = map(int, sys.argv[1:])
family, rule = ew.Sphere(), ew.Duffy(16, panels)
# A density of one, which nobody needs to solve for: its field is 1/|x|.
strengths = Strengths(rule.place(family, {}, float).jacobian, None, jnp.zeros(0))
field = rule.discretise(family, {}, float).field(ew.Laplace(3), "exterior", strengths)
fields = jax.tree_util.tree_map(lambda leaf: leaf[None], field)
direction = np.random.default_rng(0).normal(size=(count, 3))
points = direction * (np.random.default_rng(1).uniform(3, 4, count) / np.linalg.norm(direction, axis=1))[:, None]
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
fields.of_members(points[: 2 * chunk], "potential", chunk)
before = peak()
values, right = fields.of_members(points, "potential", chunk)
print(before, peak(), float(jnp.max(jnp.abs(values * np.linalg.norm(points, axis=1) - 1))), bool(jnp.all(right)))
"""


@pytest.mark.parametrize(
    ("panels", "points", "chunk", "megabytes"),
    [
        # Each a small part of what all pairs would take: 200 megabytes, 73 gigabytes.
        pytest.param(2, 4000, 200, 60, id="small", marks=pytest.mark.slow),
        pytest.param(8, 100_000, 500, 1000, id="full", marks=pytest.mark.slow),
    ],
)
def test_memory_of_evaluation_grows_with_the_chunk(panels, points, chunk, megabytes, measured):
    """Not with the points: of pairs of point and node no more than a chunk's are held."""
    arguments = [str(number) for number in (panels, points, chunk)]
    ran = subprocess.run([sys.executable, "-c", MEMORY, *arguments], capture_output=True, text=True, timeout=1800)
    assert ran.returncode == 0, ran.stderr[-2000:]
    before, after, error, right = ran.stdout.split()
    nodes = 6 * panels**2 * 16**2
    case = f"{points} points, {nodes} nodes, chunk {chunk}: more megabytes than for two chunks"
    measured(case, float(after) - float(before), megabytes)
    assert right == "True" and float(error) < 1e-9
