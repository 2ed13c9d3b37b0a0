"""Errors of operators in space, the commands that tell them, and the paper's third experiment: small."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import mie
import numpy as np
import pytest
from training import changed

import edgewise as ew
from edgewise.cli import main
from edgewise.evaluation import measure, reference, relative_l2
from edgewise.learn.building import build_network, shape_of
from edgewise.learn.operator import FitResult, Operator
from edgewise.paper import space
from edgewise.paper.space import MEMBERS, WAVES
from edgewise.solving import systems

BALL = ew.Problem(
    ew.Sphere(),
    ew.Box(k=(0.5, 2.0), direction=ew.Direction(3, default=(0, 0, 1))),
    ew.CombinedField(ew.Helmholtz(dim=3, wavenumber="k")),
    ew.PlaneWave("direction"),
    "exterior",
)
RULE = ew.Duffy(5)


def untrained(name, **network):
    """An operator of a preset with the weights it starts from."""
    problem = ew.preset(name)
    recipe = changed(ew.recipe("default", problem), network=network, validation={"nodes": 5})
    made = build_network(problem, recipe, shape_of(problem, np.dtype(float)), jnp.ones(1), jax.random.key(0))
    return Operator(problem, made, recipe, [], FitResult("unconverged", "not trained"), {}, {"preset": name})


@dataclasses.dataclass(frozen=True)
class Solver:
    """Called like an `Operator`, and answers with a solve."""

    problem: ew.Problem
    recipe: ew.Recipe
    result: str = "solved"
    stats: dict = dataclasses.field(default_factory=dict)
    known: dict = dataclasses.field(default_factory=dict)

    def __call__(self, t, direction=WAVES["axial"]):
        key = t, tuple(np.asarray(direction).tolist())
        if key not in self.known:
            self.known[key] = ew.solve(self.problem, quadrature=RULE, tol=0.5, t=t, direction=direction)
        return self.known[key]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    untrained("helmholtz-ellipsoids", layers=1, neurons=4).save(folder / "ellipsoids")
    untrained("helmholtz-halfballs", poles=1, degree=2, order=3, radial=4, harmonics=4).save(folder / "halfballs")
    return folder


@pytest.mark.slow
def test_errors_in_space_are_those_against_the_series():
    waves = {"k": [1.0, 1.0], "direction": jnp.array([[0.0, 0, 1], [1, 0, 0]])}
    solution = ew.solve(BALL, quadrature=RULE, tol=0.5, **waves)
    found = measure(solution, resolution=4)
    directions, weights = ew.special.on_sphere(12)
    truth = reference(solution)
    assert truth.quadrature.num_nodes == 7
    for i, way in enumerate(waves["direction"]):
        true = mie.far_field(1.0, directions, np.asarray(way))
        missed, left = (relative_l2(np.asarray(s[i].far_field(directions)), true, weights) for s in (solution, truth))
        assert np.isclose(found.far_field[i], missed, rtol=0.05) and left < 0.05 * missed
    assert found.num_points.tolist() == [4**3 + 100] * 2
    assert np.all(found.max_error_near_boundary <= found.max_error) and np.all(found.relative_l2 < 1e-2)


def test_members_that_differ_in_their_data_share_a_matrix(monkeypatch):
    """Three members of two wavenumbers take two matrices, and each has the answer it has alone."""
    assembled = []
    prepare = systems.prepare
    monkeypatch.setattr(systems, "prepare", lambda *given: assembled.append(1) or prepare(*given))
    k, ways = [1.0, 0.7, 1.0], jnp.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    together = ew.solve(BALL, quadrature=RULE, tol=0.5, k=k, direction=ways)
    assert len(assembled) == 2
    for i in range(3):
        alone = ew.solve(BALL, quadrature=RULE, tol=0.5, k=k[i], direction=ways[i])
        assert np.allclose(together[i].density.values, alone.density.values, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_commands_about_operators_in_space(runs, capsys, tmp_path):
    run = str(runs / "ellipsoids")
    member = ["--at", "a=1, b=1, c=1, k=1, direction=(1,0,0)"]
    assert main(["evaluate", run, *member, "--grid", "4", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["members"][0]
    assert row["parameters"]["direction"] == [1, 0, 0] and row["points"] == 4**3 + 100
    assert row["far_field_relative_l2"] > 0 and row["error_estimate"] > 0
    points, field, picture = (tmp_path / name for name in ("points.csv", "field.csv", "field.png"))
    points.write_text("x,y,z\n0,0,2\n0,0,0.5\n")
    assert main(["predict", run, *member, "--points", str(points), "--out", str(field)]) == 0
    header, outside, inside = field.read_text().splitlines()
    assert header == "x,y,z,u_re,u_im,error" and "nan" not in outside and inside.endswith("nan,nan,nan")
    pytest.importorskip("matplotlib")
    assert main(["plot", run, *member, "--out", str(picture), "--resolution", "12"]) == 0
    assert picture.stat().st_size > 10_000
    capsys.readouterr()
    assert main(["evaluate", run, *member, "--grid", "101"]) == 1
    assert "at most 100 points a side, got 101. Write `--grid 7`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ellipsoids", ["illuminated, 1 layer of 4 neurons", "position and normal", "targets (10 nodes along a side"]),
        ("halfballs", ["revolved, 3 waves round the axis", "1 poles", "direction a unit vector"]),
    ],
)
def test_info_says_what_a_network_in_space_is(runs, name, words, capsys):
    assert main(["info", str(runs / name)]) == 0
    said = capsys.readouterr().out
    assert [word for word in words if word not in said] == [], said


@pytest.mark.slow
def test_the_papers_third_experiment(tmp_path, monkeypatch, capsys):
    """The whole of it, with coarse nodes, four steps of the paper's recipe, and in place of the network what it is measured by."""
    pytest.importorskip("matplotlib")
    problem = ew.preset("helmholtz-halfballs")
    theirs = changed(
        space.papers_recipe(False),
        network={"layers": 1, "neurons": 4, "p": 4},
        collocation={"nodes": 200, "targets": 20},
        optimiser={"steps": 4, "check_every": 2},
        validation={"members": 2, "nodes": 5},
    )
    where = "edgewise.cli.reproduce.space."
    monkeypatch.setattr(where + "RULE", RULE)
    monkeypatch.setattr(where + "RESOLUTION", 12)
    monkeypatch.setattr(where + "papers_recipe", lambda full: theirs)
    monkeypatch.setattr(where + "our_operator", lambda *_: Solver(problem, ew.recipe("default", problem)))
    monkeypatch.setattr(reproduction_space, "POINTS", 9)
    out = tmp_path / "helmholtz"
    assert main(["reproduce", "helmholtz", "--quick", "--out", str(out)]) == 0
    assert capsys.readouterr().err.startswith("About ")
    names = {"results.md", "results.json", "far_fields.png", "paper.png", "edgewise.png"}
    assert {path.name for path in out.iterdir()} == names
    report = json.loads((out / "results.json").read_text())
    assert report["members"] == list(MEMBERS) and report["printed"] == [0.0356, 0.0372, 0.0418, 0.0310]
    assert [record["step"] for record in report["paper"]["path"]] == [2, 4]
    assert len(report["reference"]["seconds"]) == 4 and report["reference"]["num_nodes"] == 500
    # Every member and wave is compared with its own reference, or these would not vanish.
    for wave in WAVES:
        errors = report["edgewise"][wave]
        assert np.max(errors["far_field"]) < 1e-12 and np.max(errors["total_field"]) < 1e-12
    assert np.min(report["paper"]["axial"]["far_field"]) > 0.1 and "transverse" not in report["paper"]
    text = (out / "results.md").read_text()
    assert "3.56%" in text and "4 of 200,000 steps" in text and "![far_fields.png](far_fields.png)" in text
