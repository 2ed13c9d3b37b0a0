"""What `fit`, `recipe` and `load` refuse: what was given, what was expected, what to do."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, entire
from training import BOX, MILD, adam, flux, single, tiny

import edgewise as ew
from edgewise.base import progress as showing
from edgewise.solving.validation import check_data


def without_x64():
    return {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}


def changed(**parts):
    problem = single()
    return lambda: ew.fit(problem, tiny(problem, **parts))


def of_the_paper(representation, condition=None, data=entire, **parts):
    problem = ew.Problem(MILD, BOX, representation, data, "interior", condition)
    return lambda: ew.fit(problem, adam(problem, **parts))


MANY = ew.Problem(
    MILD,
    ew.Box(t=(0.5, 1.5), q=([0] * 6, [1] * 6)),
    ew.SingleLayer(LAPLACE),
    lambda x, q: entire(x) + jnp.sum(jnp.exp(q * x[0])),
    "interior",
)
TURNED = ew.Problem(
    MILD,
    ew.Box(t=(0.5, 1.5), angle=ew.Angle()),
    ew.CombinedField(ew.Helmholtz(2, 2.0)),
    ew.PlaneWave("angle"),
    "exterior",
)
DIRECT = ew.Problem(MILD, BOX, ew.Direct(LAPLACE), entire, "interior")
PLATE = ew.Problem(MILD, BOX, ew.LayerPair(ew.Biharmonic(2)), lambda x: (x[0], x[0] / 0.0), "interior", ew.Clamped())

CASES = {
    "not a problem": (lambda: ew.fit("laplace-star"), ["`Problem` first", "'laplace-star'", "`fit(problem)`"]),
    "unknown recipe": (
        lambda: ew.fit(single(), "fast"),
        ["'fast'", "default, best, paper", '`recipe("default", problem)`'],
    ),
    "recipe of no problem": (lambda: ew.recipe("default", 3), ["`Problem` second", "got 3"]),
    "not a recipe": (
        lambda: ew.fit(single(), {"steps": 3}),
        ["`Recipe`", "{'steps': 3}", '`recipe("default", problem)`'],
    ),
    "negative seed": (lambda: ew.fit(single(), seed=-1), ["`seed`", "got -1", "`seed=0`"]),
    "seed that is no number": (lambda: ew.fit(single(), seed="x"), ["`seed`", "got 'x'", "`seed=0`"]),
    "seed that is a truth": (lambda: ew.fit(single(), seed=True), ["`seed`", "got True", "`seed=0`"]),
    "corners": (
        lambda: ew.fit(ew.Problem(ew.Teardrop(), None, ew.SingleLayer(LAPLACE), entire, "interior"), "paper"),
        ["paper's rules", "smooth curves", "corners", '`recipe="default"`'],
    ),
    "a representation that reads data": (
        lambda: ew.fit(DIRECT, tiny(DIRECT)),
        ["`Direct` with `Dirichlet` data", "the density alone", "`SingleLayer(kernel)`"],
    ),
    "octaves of nothing": (changed(network={"octaves": ("h",)}), ["`recipe.network.octaves`", "`h`", "`t`"]),
    "octaves by a name": (changed(network={"octaves": "t"}), ["tuple of names", "got 't'", '("h",)']),
    "octaves below zero": (
        lambda: ew.fit(MANY, tiny(MANY, network={"octaves": ("q",)})),
        ["`recipe.network.octaves`", "`q`", "positive numbers"],
    ),
    "octaves of a body in a wave": (
        lambda: ew.fit(
            TURNED, tiny(TURNED, network={"kind": "modal", "octaves": ("t",)}, optimiser={"name": "stochastic"})
        ),
        ["`recipe.network.octaves`", "('t',)", "'modal'", "Set it to ()"],
    ),
    "odd nodes": (changed(collocation={"nodes": 65}), ["`recipe.collocation.nodes`", "even", "Take 66"]),
    "odd nodes to validate": (changed(validation={"nodes": 97}), ["`recipe.validation.nodes`", "even", "Take 98"]),
    "too many harmonics": (
        changed(network={"harmonics": 32}),
        ["harmonics` is 32", "64 nodes see at most 31", "more `collocation.nodes`"],
    ),
    "gauss-newton with the paper's rule": (
        changed(collocation={"rule": "uniform"}),
        ["'uniform'", "Gauss-Newton", '`optimiser.name = "adam"`', '`rule = "kress"`'],
    ),
    "the paper's rule for a double layer": (
        of_the_paper(ew.DoubleLayer(LAPLACE), collocation={"rule": "montecarlo"}),
        ["`SingleLayer` and `LayerPair`", "`DoubleLayer`", '`recipe="default"`'],
    ),
    "the paper's rule for fluxes": (
        of_the_paper(ew.SingleLayer(LAPLACE), ew.Neumann(), collocation={"rule": "uniform"}),
        ["`Dirichlet` and `Clamped`", "`Neumann`", '`recipe="default"`'],
    ),
    "odd size of Gaussian features": (
        changed(network={"features": "gaussian", "p": 7}),
        ["`recipe.network.p`", "even", "got 7", "Take 8"],
    ),
    "a normal derivative of harmonics": (
        changed(network={"normal_derivative": True}),
        ["`recipe.network.normal_derivative`", "`LayerPair`", "Set it to False"],
    ),
    "too many polynomials": (
        lambda: ew.fit(
            MANY, tiny(MANY, network={"kind": "deeponet", "degree": 20, "p": 4}, optimiser={"name": "gauss-newton"})
        ),
        ["`recipe.network.degree = 20`", "2048 polynomials of 7 parameters", "Lower it"],
    ),
    "an unknown choice": (
        changed(network={"activation": "relu"}),
        ["`recipe.network.activation`", "'gelu', 'tanh', 'silu', 'sin'", "'relu'"],
    ),
    "a size of zero": (changed(network={"neurons": 0}), ["`recipe.network.neurons`", "[1, 65536]", "got 0"]),
    "a size that is no whole number": (changed(network={"p": 8.0}), ["`recipe.network.p`", "int", "got 8.0"]),
    "a rate that is too large": (changed(optimiser={"rate": 1e9}), ["`recipe.optimiser.rate`", "1000", "1000000000.0"]),
    "a rate that is no number": (changed(optimiser={"rate": float("nan")}), ["`recipe.optimiser.rate`", "got nan"]),
    "a part that is no part": (
        lambda: ew.fit(single(), tiny(single(), dtype="float16")),
        ["`recipe.dtype`", "'float64', 'float32'", "'float16'"],
    ),
    "unknown precision": (lambda: ew.fit(single(), dtype="half"), ["`dtype`", "float32", "'half'"]),
    "resume without a folder": (lambda: ew.fit(single(), resume=True), ["`resume=True`", '`out="runs/mine"`']),
    "data that are infinite": (
        lambda: ew.fit(*(lambda p: (p, tiny(p)))(single(lambda x, t: jnp.where(t > 1.4, jnp.inf, x[0])))),
        ["`data` is inf", "at t=1.4", "narrow the `Box`"],
    ),
    "slopes that are infinite": (
        lambda: ew.fit(PLATE, tiny(PLATE)),
        ["`data` is inf at x = [", "at t=", "expected finite values"],
    ),
    "data that are too large to square": (
        lambda: ew.fit(single(lambda x: 1e200 * x[0])),
        ["`data` is as large as 1.", "e+200", "overflows in float64", "near 1"],
    ),
    "data that are too large to square in single precision": (
        lambda: ew.fit(single(lambda x: 1e30 * x[0]), dtype="float32"),
        ["`data` is as large as 1.", "e+30", "overflows in float32", "near 1"],
    ),
    "data that are too small to square": (
        lambda: ew.fit(single(lambda x: 1e-200 * x[0])),
        ["`data` is as large as 1.", "e-200", "vanishes in float64", "near 1"],
    ),
    "a coefficient that is not finite": (
        lambda: ew.fit(single(condition=ew.Robin(lambda x, t: jnp.log(t - 1.0)))),
        ["The coefficient of `Robin` is not finite at t=0.5", "narrow the `Box`"],
    ),
    "a flux that does not balance": (
        lambda: ew.fit(single(lambda x: x[0] + 1, condition=ew.Neumann())),
        ["Neumann data have integral 6.", "at t=0.5", "only if it is 0", "Subtract their mean"],
    ),
    "a curve that crosses itself": (
        lambda: ew.fit(
            ew.Problem(
                ew.StarCurve(lambda s, t: 1 + 2 * t * jnp.cos(s)), BOX, ew.SingleLayer(LAPLACE), entire, "interior"
            )
        ),
        ["crosses itself", "at t=", "Narrow the `Box`"],
    ),
    "a traced problem": (
        lambda: jax.jit(lambda c: ew.fit(single(condition=ew.Robin(c))).stats["misfit"])(1.0),
        ["cannot be traced", "outside `jit` and `grad`"],
    ),
    "traced data": (
        lambda: jax.grad(lambda c: ew.fit(single(lambda x: c * x[0])).stats["misfit"])(1.0),
        ["needs known numbers", "outside `jit` and `grad`"],
    ),
    "a folder that is no path": (lambda: ew.fit(single(), out=123), ["`out`", "got 123", '`out="runs/mine"`']),
    "a callback that cannot be called": (lambda: ew.fit(single(), callback=3), ["`callback`", "got 3", "Write"]),
    "progress in words": (lambda: ew.fit(single(), progress="yes"), ["`progress`", "got 'yes'", "`progress=True`"]),
    "resume in words": (lambda: ew.fit(single(), out="x", resume="yes"), ["`resume`", "got 'yes'", "`resume=True`"]),
    "an origin that is no text": (lambda: ew.fit(single(), origin={"file": 3}), ["`origin`", "{'file': 3}", "Write"]),
    "an origin that is text": (lambda: ew.fit(single(), origin="mine.py"), ["`origin`", "got 'mine.py'", "Write"]),
    "load of None": (lambda: ew.load(None), ["`path`", "got None", '`load("runs/mine")`']),
    "load of a number": (lambda: ew.load(3), ["`path`", "got 3", '`load("runs/mine")`']),
    "a list of presets": (lambda: ew.preset(["a"]), ["['a']", '`preset("laplace-star")`']),
    "no shipped operator": (lambda: ew.pretrained("moon"), ["'moon'", '`pretrained("laplace-star")`']),
    "load of a file": (lambda: ew.load(__file__), ["A run is a folder", "` is a file. Check the path"]),
    "load of nothing": (lambda: ew.load("no/such/run"), ["`no/such/run` does not exist", "Check the path"]),
}


@pytest.mark.parametrize("name", CASES)
def test_messages(name):
    call, words = CASES[name]
    with pytest.raises((ValueError, TypeError, FileNotFoundError)) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_folder_with_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for resume, words in ((False, "`resume=True`"), (True, "no config.json: no run to continue")):
        with pytest.raises(FileExistsError, match=r"thesis\.tex") as caught:
            ew.fit(single(), out=tmp_path, resume=resume)
        assert words in str(caught.value) and "Name a new folder" in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(ValueError, match=r"is a file; expected a folder.*Name another one"):
        ew.fit(single(), out=tmp_path / "thesis.tex")


@pytest.mark.parametrize(
    "data", [lambda x: x[0] + 1, lambda x: jnp.inf * x[0]], ids=["a flux that does not balance", "infinite"]
)
def test_refused_data_leave_no_folder(data, tmp_path):
    with pytest.raises(ValueError, match="at t="):
        ew.fit(single(data, condition=ew.Neumann()), out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_flux_that_a_few_nodes_do_not_resolve_is_not_refused():
    """Its integral is zero, by the divergence theorem, but 8 nodes do not say so."""
    problem = single(lambda x, normal: 0.2 * jnp.exp(8 * x[0]) * normal @ jnp.array([1.0, 0]), condition=ew.Neumann())
    balanced = single(flux(lambda x: jnp.exp(8 * x[0]) * jnp.cos(8 * x[1])), condition=ew.Neumann())
    member = {"t": jnp.array([0.7])}
    check_data(balanced, ew.Kress(8), member, 1, np.dtype("float64"))
    with pytest.raises(ValueError, match=r"integral .* at t=0\.7"):
        check_data(problem, ew.Kress(64), member, 1, np.dtype("float64"))


@pytest.mark.parametrize("progress", [None, True, False])
def test_what_is_trained_is_said_unless_that_is_unwanted_and_steps_only_where_they_were_asked_for(progress, capsys):
    """Standard error is no terminal here."""
    problem = single()
    chosen = tiny(problem, optimiser={"steps": 1}, validation={"tol": 1.0})
    ew.fit(problem, chosen, progress=progress)
    said = capsys.readouterr().err
    assert said.startswith(f"fit: {chosen}\n") if progress is not False else not said
    assert ("step 1 of at most 1, loss" in said) == bool(progress)


def test_whoever_waits_for_long_is_told_where_training_stands(capsys, monkeypatch):
    """Without a terminal, and though nobody asked."""
    monkeypatch.setattr(showing, "QUIET", 0.0)
    ew.fit(single(), tiny(single()))
    said = capsys.readouterr().err.splitlines()
    steps = [line for line in said if line.startswith("step ")]
    assert len(steps) > 2 and said.index(steps[0]) == 2 and said[1].startswith("misfit: how far")


@pytest.mark.slow
@pytest.mark.parametrize("call", ["fit(problem)", "load('anywhere')"])
def test_without_double_precision_both_cures_are_named(call):
    script = f"""
import edgewise as ew
problem = ew.Problem(ew.Ellipse(2.0, 1.0), None, ew.SingleLayer(ew.Laplace(2)), lambda x: x[0], "interior")
ew.{call}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=without_x64())
    for word in ("enable_x64()", "JAX_ENABLE_X64=1", 'dtype="float32"'):
        assert word in done.stderr, done.stderr
