"""The rival of the operators: grids against what is known of them, interpolation of solves against `solve`."""

import dataclasses
import itertools

import jax
import numpy as np
import pytest

import edgewise as ew
from benchmarks import many_parameters
from benchmarks.interpolation import grid, interpolation, members_at

KINDS = ("tensor", "smolyak", "degree")
RULE = ew.Kress(64)
ONE = many_parameters.shapes(1)


def same_strengths(found, true, share):
    """All that a field is made of, and the density, relative to the largest."""
    for one, other in zip(
        *(jax.tree_util.tree_leaves((s.strengths, s.density.values)) for s in (found, true)), strict=True
    ):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=share * np.max(np.abs(other), initial=0))


@pytest.mark.parametrize(
    ("kind", "dim", "counts"),
    [
        # The counts of sparse grids of Clenshaw-Curtis points, as every table of them has them.
        ("smolyak", 1, [1, 3, 5, 9, 17, 33, 65]),
        ("smolyak", 2, [1, 5, 13, 29, 65, 145, 321]),
        ("smolyak", 4, [1, 9, 41, 137, 401, 1105, 2929]),
        ("smolyak", 8, [1, 17, 145, 849, 3937, 15713]),
        ("tensor", 2, [1, 9, 25, 81, 289]),
        ("degree", 8, [1, 9, 45, 165, 495, 1287]),
    ],
)
def test_grids_have_the_known_number_of_points_and_are_nested(kind, dim, counts):
    grids = [grid(kind, dim, level) for level in range(len(counts))]
    assert [len(g) for g in grids] == counts
    for coarse, fine in itertools.pairwise(grids):
        np.testing.assert_array_equal(coarse.points, fine.points[: len(coarse)])
        assert len(np.unique(fine.points, axis=0)) == len(fine)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_polynomials_of_the_grid_are_met_exactly(kind, dim):
    g = grid(kind, dim, 2 if kind == "tensor" else 3)
    rng = np.random.default_rng(0)
    coefficients = rng.normal(size=(len(g), 2))
    values = g.evaluate(coefficients, g.points)
    np.testing.assert_allclose(g.coefficients(values), coefficients, atol=1e-11)
    # Every polynomial of total degree 3 is among them.
    direction, places = rng.normal(size=dim), rng.uniform(-1, 1, (20, dim))
    found = g.evaluate(g.coefficients((g.points @ direction)[:, None] ** 3), places)
    np.testing.assert_allclose(found[:, 0], (places @ direction) ** 3, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "dim", "levels", "bound"),
    [
        ("tensor", 1, (2, 3, 4), 1e-9),
        ("tensor", 2, (2, 3, 4), 1e-9),
        ("smolyak", 4, (2, 4, 6), 1e-4),
        ("degree", 4, (4, 8, 12), 1e-5),
    ],
)
def test_interpolants_of_a_smooth_function_converge(kind, dim, levels, bound):
    weights = np.arange(1, dim + 1) / np.sum(np.arange(1, dim + 1))
    places = np.random.default_rng(1).uniform(-1, 1, (100, dim))
    errors = []
    for level in levels:
        g = grid(kind, dim, level)
        found = g.evaluate(g.coefficients(1 / (2 + g.points @ weights)[:, None]), places)[:, 0]
        errors.append(np.max(np.abs(found - 1 / (2 + places @ weights))))
    assert errors[1] < errors[0] / 4 and errors[2] < min(errors[1] / 4, bound)


def test_many_points_lose_few_digits():
    g = grid("tensor", 1, 8)
    np.testing.assert_allclose(
        g.evaluate(g.coefficients(np.exp(g.points)), g.points[::9]), np.exp(g.points[::9]), atol=1e-12
    )


def test_solved_members_come_back_and_a_lower_level_is_not_solved_again(monkeypatch):
    problem = many_parameters.shapes(2)
    rival = interpolation(problem, grid("smolyak", 2, 2), RULE)
    # As many as are solved together: what is compiled serves both.
    members = members_at(problem, 0.1 * rival.grid.points[np.arange(64) % 13])
    found, true = rival(**members), ew.solve(problem, quadrature=RULE, tol=1e-2, **members)
    same_strengths(found, true, 1e-12)
    same_strengths(rival(c=members["c"][4]), true[4], 1e-12)

    counts, solve = [], ew.solve

    def counted(*args, c, **kwargs):
        counts.append(len(np.unique(c, axis=0)))
        return solve(*args, c=c, **kwargs)

    monkeypatch.setattr(ew, "solve", counted)
    finer = interpolation(problem, grid("smolyak", 2, 3), RULE, rival)
    assert counts == [29 - 13] and finer.change < rival.change


def test_one_parameter_is_interpolated_to_eight_digits(measured):
    rival = interpolation(ONE, grid("tensor", 1, 4), RULE)
    c = np.linspace(-0.097, 0.097, 64)[:, None]
    points = 0.95 * np.stack([np.cos(np.arange(20)), np.sin(np.arange(20))], axis=-1)
    found, true = rival(c=c), ew.solve(ONE, quadrature=RULE, c=c)
    measured("17 solves of one parameter, interpolated", float(np.max(np.abs(found(points) - true(points)))), 1e-8)
    assert found.result.ok and true.result.ok and found.stats["applications"].max() == 0
    outside = rival(c=c + 0.004, extrapolate=True)
    assert outside.result.code.tolist() == 63 * [0] + [1] and np.isfinite(outside.density.values).all()
    with pytest.raises(ValueError, match=r"must lie in \[-0.1, 0.1\], got 0.11"):
        rival(c=[0.11])


@pytest.mark.parametrize("name", ["plate", "waves"])
def test_pairs_of_densities_and_complex_ones_are_interpolated_too(name):
    family, box = ONE.family, ONE.parameters
    problem = {
        "plate": dataclasses.replace(ew.preset("biharmonic-star"), family=family, parameters=box),
        "waves": ew.Problem(family, box, ew.CombinedField(ew.Helmholtz(2, 2.0)), ew.PlaneWave(0.3), "exterior"),
    }[name]
    rival = interpolation(problem, grid("tensor", 1, 3), RULE)
    c = np.linspace(-0.097, 0.097, 64)[:, None]
    same_strengths(rival(c=c), ew.solve(problem, quadrature=RULE, tol=1e-2, c=c), 1e-5)


def test_what_interpolation_refuses():
    waves = ew.Problem(
        ew.Kite(),
        ew.Box(angle=ew.Angle()),
        ew.CombinedField(ew.Helmholtz(2, 2.0)),
        ew.PlaneWave("angle"),
        "exterior",
    )
    with pytest.raises(ValueError, match="`angle` is an angle in radians; expected an interval"):
        interpolation(waves, grid("tensor", 1, 2), RULE)
    with pytest.raises(ValueError, match="for 2 parameters; the problem has 1"):
        interpolation(ONE, grid("tensor", 2, 2), RULE)
