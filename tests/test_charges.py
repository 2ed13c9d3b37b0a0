"""Conductors at potentials of their own: data that know their body, and the charges that bodies carry."""

import jax.numpy as jnp
import numpy as np
import pytest
from support import capacitance

import edgewise as ew


def conductors(family, count):
    """Body i at the potential v[i]."""
    dim = family.dim
    return ew.Problem(
        family,
        ew.Box(v=([-1.0] * count, [1.0] * count)),
        ew.SingleLayer(ew.Laplace(dim)),
        lambda x, body, v: v[body],
        "exterior",
    )


def test_three_discs(measured):
    radii, centres = (1.0, 0.5, 0.7), [(0.0, 0.0), (2.0, 0.3), (0.4, 2.2)]
    family = ew.Union(*(ew.Translate(ew.Ellipse(a, a), c) for a, c in zip(radii, centres, strict=True)))
    matrix = ew.solve(conductors(family, 3), v=jnp.eye(3)).charge()
    assert matrix.shape == (3, 3)
    measured("capacitance of three discs", np.abs(matrix - capacitance.discs(radii, centres)).max(), 1e-10)
    measured("capacitance of three discs, symmetry", np.abs(matrix - matrix.T).max(), 1e-10)


def spheres(radii, distance):
    return ew.Union(ew.Sphere(radii[0]), ew.Translate(ew.Sphere(radii[1]), (0.0, 0.0, distance)))


@pytest.mark.parametrize(
    ("radii", "distance", "nodes", "bound"),
    [
        pytest.param((1.0, 0.5), 2.5, 6, 1e-3, id="small"),
        pytest.param((1.0, 1.0), 3.0, 16, 1e-8, id="full", marks=pytest.mark.slow),
        pytest.param((1.0, 0.5), 2.5, 16, 1e-8, id="unequal-full", marks=pytest.mark.slow),
    ],
)
def test_two_spheres(radii, distance, nodes, bound, measured):
    """Both members share a matrix: they differ in their data."""
    batch = ew.solve(conductors(spheres(radii, distance), 2), quadrature=ew.Duffy(nodes), tol=0.1, v=jnp.eye(2))
    matrix = np.asarray(batch.charge())
    truth = capacitance.two_spheres(radii, distance)
    measured(f"capacitance of spheres {radii}", np.abs(matrix - truth).max(), bound)
    measured(f"capacitance of spheres {radii}, symmetry", np.abs(matrix - matrix.T).max(), max(bound, 1e-10))


def test_a_potential_that_knows_its_body_also_inside():
    """A hole at another potential than the outer circle: the charge of either is that of the logarithm between them."""
    ring = ew.Union(ew.Ellipse(2.0, 2.0), ew.Ellipse(0.5, 0.5))
    problem = ew.Problem(ring, None, ew.SingleLayer(ew.Laplace(2)), lambda x, body: 1.0 * body, "interior")
    solution = ew.solve(problem)
    assert abs(solution(jnp.array([1.0, 0.0])) - np.log(2.0) / np.log(4.0)) < 1e-12
    charge = 2 * np.pi / np.log(4.0)
    assert np.allclose(solution.charge(), [-charge, charge], atol=1e-11)


def test_body_is_no_parameter():
    with pytest.raises(ValueError, match="`body` cannot name a parameter"):
        ew.Box(body=(0.0, 1.0))
