"""What `fit` chooses for a problem, parameters by octaves among it, and parts of a recipe that do not fit."""

import dataclasses

import numpy as np
import pytest
from many import AMPLITUDES, DATA, EIGHT, MOVED, SHAPES, THREE, WAVES, given, modal, quadratic
from members import LAPLACE
from training import changed, tiny

import edgewise as ew
from edgewise.learn.octaves import by_octaves

ROUND = ew.Ellipse(1.2, 0.9)


def robin(coefficient, family=ROUND, **box):
    return ew.Problem(family, ew.Box(**box), ew.SingleLayer(LAPLACE), quadratic, "interior", ew.Robin(coefficient))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"optimiser": {"name": "gauss-newton"}}, ["'modal'", "'gauss-newton'", '"stochastic"']),
        ({"network": {"kind": "deeponet"}}, ["'deeponet'", "'stochastic'", '"modal"']),
        ({"network": {"features": "position"}}, ['"modal"', "harmonics", "'position'"]),
    ],
)
def test_recipes_whose_parts_do_not_fit(changes, words):
    recipe = modal(SHAPES)
    for part, fields in changes.items():
        recipe = dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **fields)})
    with pytest.raises(ValueError) as error:
        ew.fit(SHAPES, recipe)
    assert all(word in str(error.value) for word in words)


def test_what_is_chosen_for_a_problem():
    assert ew.recipe("default", SHAPES).network.kind == "expansion"
    assert ew.recipe("default", EIGHT).network.kind == "modal"
    assert ew.recipe("default", MOVED).network.kind == "expansion"
    assert ew.recipe("default", WAVES).network.kind == "equivariant"
    # A network that follows waves over more wavelengths needs more polynomials.
    degrees = []
    for k in (2.0, 5.0, 10.0):
        problem = ew.Problem(
            ew.Ellipse(1.0, 1.0),
            ew.Box(k=(1.0, k)),
            ew.CombinedField(ew.Helmholtz(2, "k")),
            ew.PlaneWave(0.0),
            "exterior",
        )
        degrees.append(ew.recipe("default", problem).network.degree)
    assert degrees == sorted(set(degrees))
    few = dataclasses.replace(
        DATA, family=ew.Ellipse(1.0, "b"), parameters=ew.Box(b=(0.8, 1.2), g=(-np.ones(2), np.ones(2)))
    )
    data = ew.recipe("default", few)
    assert data.network.kind == "deeponet" and data.collocation.members > 2 * data.network.p
    # Three numbers, but members that are not alike enough.
    assert ew.recipe("default", robin("h", THREE, a=AMPLITUDES, h=(0.5, 2.0))).network.kind == "deeponet"


@pytest.mark.parametrize("problem", [SHAPES, EIGHT, WAVES, ew.preset("helmholtz-ellipsoids")])
def test_without_settings_converged_means_a_thousandth(problem):
    assert ew.recipe("default", problem).validation.tol == 1e-3


def test_what_is_seen_by_octaves():
    """What is singular at 0, tried and found better so; neither what turns a body, nor a narrow range, nor a wavenumber."""
    assert by_octaves(robin("h", h=(0.1, 10.0))) == ("h",)
    assert by_octaves(robin("h", h=(1.0, 3.0))) == ()
    turning = ew.Rotate(ew.Ellipse(1.5, "b"), "turn")
    assert by_octaves(robin(1.0, turning, turn=(0.3, 3.0), b=(0.8, 1.0))) == ()
    assert by_octaves(robin("h", turning, turn=(0.3, 3.0), b=(0.8, 1.0), h=(0.05, 5.0))) == ("h",)
    waves = ew.Problem(
        ew.Ellipse("a", 1.0),
        ew.Box(a=(1.0, 5.0), k=(1.0, 10.0)),
        ew.CombinedField(ew.Helmholtz(2, "k")),
        ew.PlaneWave(0.0),
        "exterior",
    )
    assert by_octaves(waves) == ()
    # Numbers that the data are linear in multiply the answer, whatever they are.
    box = ew.Box(h=(0.1, 10.0), g=(-np.ones(2), np.ones(2)))
    assert by_octaves(dataclasses.replace(robin("h", h=(0.1, 10.0)), parameters=box, data=given)) == ("h",)
    # Data that are infinite are refused where all data are.
    broken = dataclasses.replace(robin("h", h=(0.1, 10.0)), data=lambda x: x[0] / 0.0)
    assert by_octaves(broken) == ()


def test_a_run_by_octaves_is_kept_and_read_again(tmp_path, measured):
    """Nothing but the logarithm differs, and the pole of the answer at h = 0 no longer hurts."""
    problem = robin("h", h=(0.05, 20.0))
    sizes = {
        "network": {"degree": 12, "p": 14, "harmonics": 12},
        "collocation": {"members": 20, "nodes": 32},
        "validation": {"nodes": 48},
    }
    recipe = tiny(problem, **sizes)
    assert recipe.network.octaves == ("h",) and "h by octaves" in str(recipe)
    operator = ew.fit(problem, recipe, out=tmp_path / "run")
    plain = ew.fit(problem, changed(recipe, network={"octaves": ()}))
    h, points = np.array([0.06, 0.3, 2.0, 19.0]), np.array([[0.2, 0.1], [-0.5, 0.4]])
    true = ew.solve(problem, quadrature=ew.Kress(64), h=h)(points)
    missed = [float(np.max(np.abs(found(h=h)(points) / true - 1))) for found in (operator, plain)]
    measured("Robin data over two decades, tiny, by octaves", missed[0], 1e-3)
    assert missed[0] < 1e-2 * missed[1]
    again = ew.load(tmp_path / "run", problem)
    assert again.recipe == recipe
    np.testing.assert_array_equal(again(h=h)(points), operator(h=h)(points))
