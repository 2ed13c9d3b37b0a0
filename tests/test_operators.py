"""The operators that ship, the paper's recipe and the commands that reproduce it: small here, in full where marked slow."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import edgewise as ew
from edgewise.cli import main
from edgewise.evaluation import measure
from edgewise.learn.drawn import observed
from edgewise.learn.loading import folder, shipped
from edgewise.learn.training import Training
from edgewise.paper import reproduction
from edgewise.presets import PRESETS

MEMBERS = [pytest.param(6, id="small"), pytest.param(200, id="full", marks=pytest.mark.slow)]
# Relative l2 over the interior, points up to the boundary included.
BOUNDS = {"laplace-star": 1e-8, "laplace-quadratic": 1e-7, "biharmonic-star": 1e-7}
# The same, of waves the far field: median and worst.
MANY = {
    "laplace-shapes": (1e-3, 1e-2),
    "laplace-data": (1e-3, 1e-2),
    "helmholtz-star": (1e-3, 1e-2),
    "helmholtz-shapes": (3e-3, 3e-2),
}


def test_every_preset_has_an_operator_with_its_making_written_down():
    assert set(shipped()) == set(PRESETS)
    for name in shipped():
        config = json.loads((folder(name) / "config.json").read_text())
        assert config["stats"]["command"].startswith(f"edgewise train {name} --recipe {config['recipe']['name']}")
        assert {"device", "date", "seconds", "measured"} <= set(config["stats"])
        # Every direction on every pair of half-balls to 1e-4 takes 217,000 complex weights, and so do many parameters of waves, where
        # every order of the direction has polynomials of its own.
        limits = {"helmholtz-halfballs": 4_000_000, **dict.fromkeys(MANY, 5_000_000)}
        assert sum(file.stat().st_size for file in folder(name).iterdir()) < limits.get(name, 400_000)


@pytest.mark.parametrize("count", MEMBERS)
@pytest.mark.parametrize("name", MANY)
def test_shipped_operators_of_many_parameters(name, count, measured):
    operator = ew.pretrained(name)
    errors = measure(operator(**operator.problem.parameters.sample(jax.random.key(14), count)), every_point=False)
    values, (median, worst) = errors.relative_l2 if errors.far_field is None else errors.far_field, MANY[name]
    measured(f"{name}, shipped, median of {count}", float(np.median(values)), median)
    measured(f"{name}, shipped, worst of {count}", float(values.max()), worst)


def test_doubled_data_have_the_doubled_answer():
    operator = ew.pretrained("laplace-data")
    a, b, c, d = np.array([0.05, -0.1]), np.array([0.0, 0.08]), np.array([0.5, 0.0, -0.2, 0.1]), np.full(4, 0.25)
    x = np.array([[0.3, 0.2], [-0.7, 0.1]])
    once, twice = (operator(a=a, b=b, c=factor * c, d=factor * d)(x) for factor in (1, 2))
    assert np.max(np.abs(twice - 2 * once)) < 1e-14


@pytest.mark.parametrize("count", MEMBERS)
@pytest.mark.parametrize(
    "name", [n if n == "laplace-star" else pytest.param(n, marks=pytest.mark.slow) for n in BOUNDS]
)
def test_shipped_operators_on_members_never_trained_on(name, count, measured):
    operator = ew.pretrained(name)
    drawn = operator.problem.parameters.sample(jax.random.key(11), count)
    t = jnp.concatenate([jnp.array([1.15, 1.35, 1.45]), drawn["t"]])
    errors = measure(operator(t=t), every_point=False)
    measured(f"{name}, shipped, worst of {count + 3} members", errors.relative_l2.max(), BOUNDS[name])


@pytest.mark.parametrize("count", MEMBERS)
def test_the_shipped_laplace_operator_serves_both_sides(count, measured):
    both = dataclasses.replace(ew.preset("laplace-star"), side="both", exact=None)
    operator = ew.load(folder("laplace-star"), both)
    t = both.parameters.sample(jax.random.key(12), count)["t"][: 20 if count > 20 else 3]
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    rings = [r * np.stack([np.cos(angle), np.sin(angle)], axis=-1) for r in (0.2, 2.2, 5.0, 100.0)]
    solved = ew.solve(both, t=t)
    x, normal = solved[0].boundary.x[::8], solved[0].boundary.normal[::8]
    points = np.concatenate([*rings, x, x + 1e-6 * normal, x - 1e-6 * normal])
    truth = solved(points)
    error = jnp.linalg.norm(operator(t=t)(points) - truth, axis=1) / jnp.linalg.norm(truth, axis=1)
    measured("laplace-star, both sides, against solve", float(error.max()), 1e-7)


@pytest.mark.slow
def test_a_shipped_operator_retrained_by_its_command(tmp_path, measured):
    config = json.loads((folder("laplace-quadratic") / "config.json").read_text())
    words = config["stats"]["command"].replace("runs/laplace-quadratic", str(tmp_path / "run")).split()
    assert main(words[1:]) == 0
    t = ew.preset("laplace-quadratic").parameters.sample(jax.random.key(13), 50)["t"]
    old, new = (
        float(measure(operator(t=t), every_point=False).relative_l2.max())
        for operator in (ew.pretrained("laplace-quadratic"), ew.load(tmp_path / "run"))
    )
    measured("laplace-quadratic retrained, error over the shipped one's", new / old, 2)


def test_the_papers_recipe_is_its_table():
    problem = ew.preset("laplace-star")
    recipe = ew.recipe("paper", problem)
    network, collocation, optimiser = recipe.network, recipe.collocation, recipe.optimiser
    assert (network.kind, network.layers, network.neurons, network.p, network.activation) == (
        "nomad",
        3,
        100,
        100,
        "gelu",
    )
    assert (collocation.rule, collocation.members, collocation.nodes, collocation.targets) == ("uniform", 10, 3000, 100)
    assert (optimiser.name, optimiser.steps, optimiser.rate, optimiser.decay) == ("adam", 200_000, 1e-3, 0.95)
    assert ew.recipe("paper-random", problem).collocation.rule == "montecarlo"
    assert ew.recipe("paper", ew.preset("biharmonic-star")).network.normal_derivative


def test_the_papers_equation_is_a_sum_of_point_sources():
    problem = ew.preset("laplace-star")
    nodes, targets = jnp.linspace(0, 2 * jnp.pi, 40), jnp.linspace(0.05, 6.0, 5)
    system = observed(problem, ew.Uniform(40), (nodes, targets), {"t": jnp.asarray(1.3)}, jnp.float64)
    x, y = (jax.vmap(lambda s: problem.family.point(s, t=1.3))(s) for s in (nodes, targets))
    distance = jnp.linalg.norm(y[:, None] - x, axis=-1)
    expected = -jnp.log(distance) / (2 * jnp.pi) * 2 * jnp.pi / 40
    assert np.allclose(system.matrix[:, :40], expected, atol=1e-13)
    assert np.all(np.asarray(system.matrix[:, 40:]) == 0)
    assert np.allclose(system.rhs, jax.vmap(lambda x: jnp.exp(x[0]) * jnp.sin(x[1]))(y))


def small(name, problem, steps):
    """A recipe of this name at a size that takes no time."""
    recipe = ew.recipe(name, problem)
    if name.startswith("paper"):
        return dataclasses.replace(
            recipe,
            network=dataclasses.replace(recipe.network, neurons=10, p=8, layers=1),
            collocation=dataclasses.replace(recipe.collocation, members=2, nodes=60, targets=10),
            optimiser=dataclasses.replace(recipe.optimiser, steps=steps, check_every=max(1, steps // 3)),
            validation=dataclasses.replace(recipe.validation, members=2, nodes=64),
        )
    return dataclasses.replace(
        recipe,
        network=dataclasses.replace(recipe.network, neurons=4, p=4, degree=2, harmonics=15),
        collocation=dataclasses.replace(recipe.collocation, members=5, nodes=48),
        optimiser=dataclasses.replace(recipe.optimiser, steps=2),
        validation=dataclasses.replace(recipe.validation, members=2, nodes=64),
    )


# Random nodes hardly train: their noise is as large as the data.
@pytest.mark.parametrize(
    ("name", "recipe", "share"),
    [
        ("laplace-star", "paper", 0.8),
        pytest.param("laplace-star", "paper-random", 1.0, marks=pytest.mark.slow),
        pytest.param("biharmonic-star", "paper", 0.8, marks=pytest.mark.slow),
    ],
)
def test_the_papers_recipes_make_their_loss_fall(name, recipe, share):
    problem = ew.preset(name)
    training = Training(problem, small(recipe, problem, 90), seed=0)
    loss = jax.jit(lambda weights: jnp.mean(jax.lax.map(lambda i: training.loss(weights, i), jnp.arange(5))))
    start = training.start()
    end = training.advance(start, 0, 90)
    assert float(loss(end["weights"])) < share * float(loss(start["weights"]))


@pytest.mark.slow
def test_reproduce_writes_both_recipes_side_by_side(tmp_path, monkeypatch, capsys):
    problem = ew.preset("laplace-star")
    monkeypatch.setattr(
        reproduction, "recipes_for", lambda *_: (small("paper", problem, 6), small("default", problem, 2))
    )
    monkeypatch.setattr("edgewise.cli.reproduce.recipes_for", reproduction.recipes_for)
    out = tmp_path / "laplace"
    assert main(["reproduce", "laplace", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("About ") and "minutes" in said.err.splitlines()[0]
    report = json.loads((out / "results.json").read_text())
    assert [row["step"] for row in report["paper"]["path"]] == [2, 4, 6]
    assert report["printed"] == [0.0285, 0.0287, 0.03] and report["command"] == "edgewise reproduce laplace --seed 0"
    assert {"race.png", "paper.png", "edgewise.png", "results.md", "results.json"} == {p.name for p in out.iterdir()}
    assert "2.85%" in (out / "results.md").read_text()
    assert main(["reproduce", "laplace", "--out", str(out)]) == 1
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "cure", "code"),
    [
        (["reproduce", "sound"], "laplace, biharmonic, helmholtz", 2),
        (["reproduce", "laplace", "--quick", "--full"], "Leave one out", 1),
    ],
)
def test_reproduce_refuses_in_words(words, cure, code, tmp_path, capsys):
    assert main([*words, "--out", str(tmp_path / "x")]) == code
    assert cure in capsys.readouterr().err
