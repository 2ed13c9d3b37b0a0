"""Operators on surfaces: what ships, what they are made of, and how they are trained."""

import dataclasses
import shutil

import equinox as eqx
import jax
import jax.numpy as jnp
import mie
import numpy as np
import pytest
from halfballs import reference
from space import directions

import edgewise as ew
from edgewise.learn import projection, surfaces
from edgewise.learn.building import build_network, shape_of
from edgewise.learn.multiplied import data_names
from edgewise.learn.networks import unknowns
from edgewise.learn.revolved_training import training_in_space
from edgewise.solving.systems import prepare
from edgewise.solving.validation import Settings
from edgewise.special import on_sphere

HALVES = ew.preset("helmholtz-halfballs")
ELLIPSOIDS = ew.preset("helmholtz-ellipsoids")


def tiny(problem, **changes):
    """A recipe whose training takes seconds beside its compilation; of parts, the fields that change."""
    base = {
        "network": {"poles": 2, "degree": 2, "order": 4, "radial": 6, "harmonics": 6, "layers": 2, "neurons": 8},
        "collocation": {"members": 12, "nodes": 4, "targets": 24, "batch": 4},
        "validation": {"members": 2, "nodes": 5},
        "optimiser": {"steps": 4, "check_every": 1},
    }
    recipe = ew.recipe("default", problem)
    for part, fields in base.items():
        fields = {**fields, **changes.pop(part, {})}
        recipe = dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **fields)})
    return dataclasses.replace(recipe, **changes)


def relative(found, true, weights):
    return float(np.sqrt(np.sum(weights * np.abs(found - true) ** 2) / np.sum(weights * np.abs(true) ** 2)))


def test_the_shipped_operator_has_the_papers_far_fields():
    known, operator = reference(), ew.pretrained("helmholtz-halfballs")
    around = np.stack([np.sin(known.theta), 0 * known.theta, np.cos(known.theta)], axis=-1)
    found = np.asarray(operator(t=known.t).far_field(around))
    errors = [relative(f, g, known.weights) for f, g in zip(found, known.far_axial, strict=True)]
    print(f"axial {errors}")
    assert max(errors) < 1e-4
    # Across the gap's rim the wave is not symmetric: directions all round the axis.
    angle = 2 * np.pi * np.arange(32) / 32
    every = np.stack(
        [
            np.outer(np.sin(known.theta), np.cos(angle)),
            np.outer(np.sin(known.theta), np.sin(angle)),
            np.outer(np.cos(known.theta), np.ones(32)),
        ],
        axis=-1,
    )
    found = np.asarray(operator(t=known.t, direction=(1.0, 0.0, 0.0)).far_field(every))
    true = known.modes @ np.cos(np.outer(np.arange(known.modes.shape[-1]), angle))
    errors = [relative(f, g, known.weights[:, None]) for f, g in zip(found, true, strict=True)]
    print(f"transverse {errors}")
    assert max(errors) < 2e-4


def test_the_shipped_ellipsoids_contain_the_ball():
    around, weights = on_sphere(12)
    operator, incidence = ew.pretrained("helmholtz-ellipsoids"), directions(1, seed=5)[0]
    errors = []
    for radius, k in ((0.8, 1.5), (1.2, 3.0), (1.0, 5.5)):
        found = operator(a=radius, b=radius, c=radius, k=k, direction=incidence).far_field(around)
        errors.append(relative(np.asarray(found), mie.far_field(k, around, incidence, radius=radius), weights))
    print(f"balls {errors}")
    assert max(errors) < 2e-2


def test_an_operator_on_surfaces_makes_no_solve_and_reads_no_data():
    operator = ew.pretrained("helmholtz-halfballs")
    many = operator(t=jnp.linspace(0.1, 0.4, 3), direction=jnp.array(directions(3)))
    assert np.all(np.asarray(many.stats["applications"]) == 0) and len(many) == 3
    other = dataclasses.replace(operator, problem=dataclasses.replace(HALVES, data=lambda x: jnp.nan * x[0] + 0j))
    assert np.all(np.isfinite(np.asarray(other(t=0.2).far_field(jnp.eye(3)))))
    left_out = operator(t=0.2).far_field(jnp.eye(3))
    assert np.array_equal(left_out, operator(t=0.2, direction=(0, 0, 1)).far_field(jnp.eye(3)))


@pytest.mark.slow
def test_a_density_anywhere_is_the_one_at_the_nodes():
    solution = ew.pretrained("helmholtz-halfballs")(t=0.3)
    assert abs(solution.density(solution.boundary.s[700]) - solution.density.values[700]) < 1e-12


def test_derivatives_of_a_far_field_in_its_parameters():
    operator, around = ew.pretrained("helmholtz-halfballs"), jnp.eye(3)[0]

    def power(t):
        return jnp.abs(operator(t=t).far_field(around)) ** 2

    step = 1e-5
    difference = (power(0.2 + step) - power(0.2 - step)) / (2 * step)
    assert abs(jax.jit(jax.grad(power))(0.2) - difference) < 1e-6 * abs(difference)


def test_where_a_point_is_on_its_generating_line():
    family = HALVES.family
    for s in [(0.3, 0.7), (3.2, 0.4), (5.6, 0.1), (9.9, 0.8), (10.4, 0.2), (13.1, 0.6), (16.7, 0.3), (19.5, 0.9)]:
        x = np.asarray(family.point(jnp.array(s), t=0.2))
        line, along, radius, angle = family.meridian(jnp.array(s))
        distance = radius if line % 2 else np.sin(np.pi / 2 * radius)
        assert np.allclose(x[:2], distance * np.array([np.cos(angle), np.sin(angle)]), atol=1e-14)
        assert (x[2] > 0) == (line < 2) and abs(radius**2 - (1 - (1 - along) ** 3)) < 1e-14


def test_body_and_wave_turned_together_turn_the_density():
    operator = ew.pretrained("helmholtz-halfballs")
    first, second = (operator(t=0.17, direction=d) for d in ((0.6, 0.48, 0.64), (-0.48, 0.6, 0.64)))
    for s in ((1.3, 0.2), (2.8, 0.9)):
        # The next sector of the dome is the same, a quarter of a turn on.
        assert abs(first.density(jnp.array(s)) - second.density(jnp.array((s[0] + 1, s[1])))) < 1e-12


@pytest.mark.parametrize("count", [5, 40])
def test_targets_are_drawn_by_their_chances_and_none_twice(count):
    chances = np.linspace(0.2, 3.0, 200)
    drawn = surfaces.draw_targets(np.random.default_rng(0), 3000, chances, count)
    assert all(len(set(row)) == count for row in drawn) and np.all(np.diff(drawn, axis=1) > 0)
    share = np.bincount(drawn.ravel(), minlength=200) / 3000
    assert np.max(np.abs(share - count * chances / chances.sum())) < 0.02


def test_rows_of_several_members_are_those_of_each():
    values = {name: value[:2] for name, value in ELLIPSOIDS.parameters.sample(jax.random.key(1), 2).items()}
    targets = surfaces.draw_targets(np.random.default_rng(0), 2, np.ones(96), 9)
    rows = surfaces.rows_of(ELLIPSOIDS, ew.Duffy(4), values, targets, float)
    settings = Settings("direct", 1.0, np.dtype(float), None)
    for i in range(2):
        whole = prepare(ELLIPSOIDS, ew.Duffy(4), {n: v[i : i + 1] for n, v in values.items()}, 1, settings)
        mine = jax.tree_util.tree_map(lambda leaf, i=i: leaf[i], rows)
        assert np.max(np.abs(mine.matrix - whole.matrix[0][targets[i]])) < 1e-14
        right = mine.rhs(ELLIPSOIDS, {n: v[i] for n, v in values.items()})
        assert np.max(np.abs(right - whole.rhs[0][targets[i]])) < 1e-14


def test_parameters_of_the_data_alone_share_an_equation():
    assert data_names(HALVES) == ("direction",) == data_names(ELLIPSOIDS)


@pytest.mark.slow
def test_weights_for_given_poles_are_least_squares():
    """The normal equations against the residual of all rows and directions, which no other weights make smaller."""
    recipe = tiny(HALVES)
    training = training_in_space(HALVES, recipe, 0)
    state = training.advance(training.start(), 0, 1)
    network, skeleton = training.network(state["weights"]), training.skeleton
    best = projection.solve(skeleton, training.members, training.normal, network.poles)
    for order in range(recipe.network.order + 1):
        code = jnp.einsum(
            "xjl,bj->bxl", best.weights[order], projection.functions_of(skeleton, training.members, network.poles)
        )
        left = jnp.einsum("bxy,byl->bxl", training.normal.gram[order], code) - training.normal.moment[order]
        slope = jnp.einsum(
            "bj,bxl->xjl", projection.functions_of(skeleton, training.members, network.poles).conj(), left
        )
        assert np.max(np.abs(slope)) < 1e-8 * float(jnp.max(jnp.abs(training.normal.moment[order])))
    # One step of the poles leaves less, and the network has these weights.
    assert float(state["loss"]) <= float(
        projection.solve(skeleton, training.members, training.normal, skeleton.poles).loss
    )
    assert np.allclose(network.weights[2][0], np.swapaxes(best.weights[2][..., 2:].real, -1, -2), atol=1e-10)


@pytest.mark.parametrize("kind", ["illuminated", "nomad"])
def test_stochastic_steps_make_the_residual_smaller(kind):
    """Also what its Jacobian is: against differences."""
    problem = dataclasses.replace(
        ELLIPSOIDS, family=ew.Sphere("a"), parameters=ew.Box(a=(0.8, 1.2), k=(1.0, 2.0), direction=ew.Direction(3))
    )
    recipe = tiny(problem, network={"kind": kind}, optimiser={"steps": 30, "damping": 1e-2})
    training = training_in_space(problem, recipe, 0)
    weights = training.first_weights
    one = jax.tree_util.tree_map(lambda leaf: leaf[0], training.rows)
    jacobian, residual = training._rows(weights, one, one.parameters)
    move = jax.random.normal(jax.random.key(2), weights.shape) * 1e-6
    moved = training._rows(weights + move, one, one.parameters)[1]
    assert np.max(np.abs(moved - residual - jacobian @ move)) < 1e-4 * np.max(np.abs(jacobian @ move))
    before = training.misfit(weights)["misfit"]
    state = training.advance(training.start(), 0, 30)
    print(f"{kind}: {before:.2f} to {training.misfit(state['weights'])['misfit']:.2f}")
    assert training.misfit(state["weights"])["misfit"] < 0.8 * before


@pytest.mark.slow
def test_a_run_is_continued_where_it_stopped(tmp_path, monkeypatch):
    """From its folder as it was before the last step but one was written, as if the machine had stopped there."""
    monkeypatch.setattr("edgewise.learn.loop.SAVE_EVERY", 0.0)
    recipe, stopped = tiny(HALVES, optimiser={"steps": 10}), tmp_path / "stopped"

    def stop(record):
        if record["step"] == 9:
            shutil.copytree(tmp_path / "run", stopped)

    whole = ew.fit(HALVES, recipe, seed=3, out=tmp_path / "run", callback=stop)
    again = ew.fit(HALVES, recipe, seed=3, out=stopped, resume=True)
    for first, second in zip(
        *(jax.tree_util.tree_leaves(eqx.filter(o.network, eqx.is_array)) for o in (whole, again)), strict=True
    ):
        assert np.array_equal(first, second)
    read = ew.load(stopped)
    assert np.array_equal(read(t=0.3).far_field(jnp.eye(3)), again(t=0.3).far_field(jnp.eye(3)))
    other = dataclasses.replace(HALVES, representation=ew.CombinedField(ew.Helmholtz(3, 6.0)))
    with pytest.raises(ValueError, match="trained for another problem"):
        ew.load(stopped, other)


def test_densities_times_jacobian_are_continuous_where_the_network_is():
    """The unknown of a single layer jumps between patches with the jacobian; the density of a network does not."""
    problem = dataclasses.replace(HALVES, representation=ew.SingleLayer(ew.Helmholtz(3, 6.0)))
    recipe = ew.recipe("paper", problem)
    network = build_network(problem, recipe, shape_of(problem, np.dtype(float)), jnp.ones(1), jax.random.key(0))
    nodes = ew.Duffy(4).place(problem.family, {"t": 0.2}, np.dtype(float))
    found = unknowns(network, nodes, {"t": jnp.asarray(0.2), "direction": jnp.array([0.0, 0, 1])})
    bare = unknowns(network.network, nodes, {"t": jnp.asarray(0.2), "direction": jnp.array([0.0, 0, 1])})
    assert np.allclose(found, bare * nodes.jacobian)
    # As a stored run is read: by the shapes of its arrays, before there are numbers.
    skeleton = eqx.filter_eval_shape(
        lambda size: build_network(problem, recipe, shape_of(problem, np.dtype(float)), size, jax.random.key(0)),
        jax.ShapeDtypeStruct((1,), float),
    )
    assert jax.tree_util.tree_structure(skeleton) == jax.tree_util.tree_structure(network)


HARD = dataclasses.replace(HALVES, condition=ew.Neumann())
WRONG = {
    "hard": (lambda: ew.fit(HARD), "serves sound-soft bodies.*Use `SingleLayer"),
    "kress": (lambda: ew.fit(HALVES, tiny(HALVES, collocation={"rule": "kress"})), 'is for curves.*`recipe="default"`'),
    "deeponet": (
        lambda: ew.fit(HALVES, tiny(HALVES, network={"kind": "deeponet"})),
        "for curves; on surfaces expected",
    ),
    "expansion": (
        lambda: ew.fit(HALVES, tiny(HALVES, network={"kind": "expansion"})),
        "for curves; on surfaces expected",
    ),
    "not revolved": (
        lambda: ew.fit(ELLIPSOIDS, tiny(ELLIPSOIDS, network={"kind": "revolved"})),
        "bodies of revolution",
    ),
    "adam": (lambda: ew.fit(HALVES, tiny(HALVES, optimiser={"name": "adam"})), "expected 'gauss-newton'"),
    "batch": (
        lambda: ew.fit(ELLIPSOIDS, tiny(ELLIPSOIDS, collocation={"batch": 64})),
        "`recipe.collocation.batch` is 64, of 12 members",
    ),
    "few members": (lambda: ew.fit(HALVES, tiny(HALVES, collocation={"members": 6})), "expected at least 10"),
    "many nodes": (lambda: ew.fit(HALVES, tiny(HALVES, collocation={"nodes": 192})), "at most 48. Take 12"),
    "surfaces' kind": (
        lambda: ew.fit(
            ew.preset("laplace-star"),
            dataclasses.replace(
                ew.recipe("default", ew.preset("laplace-star")),
                optimiser=dataclasses.replace(ew.recipe("default", HALVES).optimiser, name="stochastic"),
            ),
        ),
        "does not go with `optimiser.name = .stochastic.`",
    ),
    "outside": (lambda: ew.pretrained("helmholtz-halfballs")(t=0.6), r"`t` must lie in \[0.05, 0.5\], got 0.6"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_said_in_words(name):
    call, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        call()
