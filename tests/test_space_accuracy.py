"""Operators that ship for bodies in space, over their whole box: how wrong they are, and what they say of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import edgewise as ew
from edgewise.special import on_sphere
from edgewise.testing import damaged
from tests.halfballs import reference, relative_l2
from tests.space import directions

pytestmark = pytest.mark.slow

# The reference: on half-balls wrong by 6e-6 or less.
RULE = ew.Duffy(12)
AXIAL, TRANSVERSE = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
AROUND, WEIGHTS = on_sphere(24)
# Fifty gaps, a tenth of them at a time, among them the resonance near 0.2645.
GAPS = np.array_split(np.sort([*np.linspace(0.05, 0.5, 47), 0.262, 0.2645, 0.267]), 10)
# Members of the box of ellipsoids, ten at a time.
DRAWS = range(10)


def far_errors(operator, truth, **members):
    found, true = (np.asarray(s.far_field(AROUND)) for s in (operator(**members), truth))
    return relative_l2(WEIGHTS, found, true)


@pytest.mark.parametrize("gaps", GAPS, ids=lambda gaps: f"{gaps[0]:.3f}-{gaps[-1]:.3f}")
def test_far_fields_of_half_balls(gaps, measured):
    operator = ew.pretrained("helmholtz-halfballs")
    waves = jnp.array([AXIAL, TRANSVERSE])
    errors = np.array(
        [
            far_errors(
                operator, ew.solve(operator.problem, t=t, direction=waves, quadrature=RULE), t=t, direction=waves
            )
            for t in gaps
        ]
    )
    where = f"half-balls, t in [{gaps[0]:.3f}, {gaps[-1]:.3f}]"
    measured(f"{where}, axial, worst far field", errors[:, 0].max(), 1e-3)
    measured(f"{where}, transverse, worst far field", errors[:, 1].max(), 1e-3)


def test_total_fields_about_half_balls(measured):
    known, operator = reference(), ew.pretrained("helmholtz-halfballs")
    for t, true in zip(known.t, known.slice_total, strict=True):
        found = np.asarray(operator(t=float(t)).total(known.slice_points))
        seen = np.isfinite(true) & np.isfinite(found)
        # Of the grid at most points on the surface itself, where inside begins, are seen by one and not by the other.
        assert np.mean(seen == np.isfinite(true)) > 0.99
        measured(f"half-balls, t = {t}, total field on the slice", relative_l2(1.0, found[seen], true[seen]), 1e-3)


@pytest.mark.parametrize("draw", DRAWS)
def test_far_fields_of_ellipsoids(draw, measured):
    operator = ew.pretrained("helmholtz-ellipsoids")
    members = operator.problem.parameters.sample(jax.random.key(4000 + draw), 10)
    errors = far_errors(operator, ew.solve(operator.problem, quadrature=ew.Duffy(11), **members), **members)
    print("ellipsoids", *(f"{error:.2e}" for error in errors))
    measured(f"ellipsoids, draw {draw}, median far field", float(np.median(errors)), 2e-2)
    measured(f"ellipsoids, draw {draw}, worst far field", errors.max(), 1e-1)


@pytest.mark.parametrize("t", [0.07, 0.16, 0.258, 0.2645, 0.33, 0.48])
def test_estimates_of_half_balls(t, measured):
    """Six directions, by the operator as it ships and by two whose weights are damaged: one matrix serves them all."""
    operator = ew.pretrained("helmholtz-halfballs")
    waves = jnp.array([AXIAL, TRANSVERSE, *directions(4, seed=int(1e4 * t))])
    every = jnp.concatenate([waves] * 3)
    operators = [operator, damaged(operator, 1e-4), damaged(operator, 1e-2)]
    densities = jnp.concatenate([one(t=t, direction=waves).density.values for one in operators])
    wrong = operator(t=t, direction=every).with_density(densities)
    truth = ew.solve(operator.problem, t=t, direction=waves, quadrature=RULE)
    far = np.concatenate([np.asarray(truth.far_field(AROUND))] * 3)
    error = np.sqrt(np.abs(np.asarray(wrong.far_field(AROUND)) - far) ** 2 @ WEIGHTS)
    ratio = np.asarray(wrong.error_estimate(of="far_field").value) / error
    print(f"far fields at t = {t}: estimate over error", np.round(ratio, 2))
    measured(f"half-balls at t = {t}, far field: error over estimate, largest", 1 / ratio.min(), 1)
    measured(f"half-balls at t = {t}, far field: estimate over error, largest", ratio.max(), 10)
    # Fields: the largest error at points in the gap and around.
    gap = jnp.asarray(directions(60, 3)) * jnp.array([1.0, 1.0, 0.5 * t])
    points = jnp.concatenate([2.0 * jnp.asarray(directions(60, 1)), 1.05 * jnp.asarray(directions(60, 2)), gap])
    fields = np.concatenate([np.asarray(truth(points))] * 3)
    error = np.nanmax(np.abs(np.asarray(wrong(points)) - fields), axis=-1)
    ratio = np.asarray(wrong.error_estimate().value) / error
    print(f"fields at t = {t}: estimate over error", np.round(ratio, 2))
    measured(f"half-balls at t = {t}, field: error over estimate, largest", 1 / ratio.min(), 1)
