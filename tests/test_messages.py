"""Bad input: what was given, what was expected, what to do. Each message is read for all three."""

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, PAPER, entire

import edgewise as ew


def problem(family=PAPER, box=None, data=entire, side="interior", representation=None, **options):
    box = ew.Box(t=(1.0, 2.0)) if box is None else box
    return ew.Problem(family, box, representation or ew.SingleLayer(LAPLACE), data, side, **options)


def unit(**options):
    return problem(ew.Ellipse(1.0, 1.0), ew.Box(), **options)


HELMHOLTZ = ew.Helmholtz(2, "k")


NUMPY = "Write `jnp.sin` of `jax.numpy` instead of `np.sin`"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"family": ew.StarCurve(lambda s, t: 1 + 0.1 * t * np.cos(s))}, ["radius of a `StarCurve`", NUMPY]),
        ({"data": lambda x: x[0] if x[0] > 0 else 0.0}, ["`data` asks for numbers", "`jnp.where(condition, a, b)`"]),
        ({"data": lambda x: x[:, 0]}, ["`data` sees one point, of shape (2,)", "Write `x[0]`"]),
    ],
    ids=["numpy", "if", "many points"],
)
def test_functions_that_jax_cannot_trace(wrong, words):
    for verb in (lambda asked: ew.solve(asked, t=1.5), ew.fit):
        with pytest.raises(TypeError) as caught:
            verb(problem(**wrong))
        assert [word for word in words if word not in str(caught.value)] == []


def scattering(data, coupling=None):
    box = ew.Box(k=(0.0, 5.0), eta=(-2.0, 2.0))
    return ew.Problem(ew.Ellipse(1.0, 1.0), box, ew.CombinedField(HELMHOLTZ, coupling), data, "exterior")


SEMI_AXES = ew.Box(a=(0.5, 1.0))
ELLIPSOIDS = ew.Problem(
    ew.Ellipsoid("a", 1.0, 1.0), SEMI_AXES, ew.SingleLayer(ew.Laplace(3)), lambda x: x[0], "interior"
)
MOVED = problem(ew.Translate(ew.Ellipse("a", 1.0), (1.0, 0.0)), SEMI_AXES)

CASES = {
    "ranges without names": (
        lambda: ew.Box({"t": (1.0, 2.0)}),
        ["by name", "got {'t': (1.0, 2.0)}", "`Box(t=(1.0, 2.0))`"],
    ),
    "a wave's angle that the box does not have": (
        lambda: scattering(ew.PlaneWave("angle")),
        ["`data` names `angle`", "they are `k`, `eta`", "angle=ew.Angle())`"],
    ),
    "value outside the box": (
        lambda: ew.solve(problem(), t=2.3),
        ["got 2.3", r"[1.0, 2.0]", "`extrapolate=True`"],
    ),
    "unknown parameter": (
        lambda: ew.solve(problem(), t=1.5, q=3),
        ["Unknown parameter `q`", "has `t`", "`solve(problem, t=1.5)`"],
    ),
    "missing parameter": (lambda: ew.solve(problem()), ["`t` is missing", "[1.0, 2.0]", "solve(problem, t=1.5)"]),
    "wrong shape of a parameter": (
        lambda: ew.solve(problem(), t=jnp.ones((2, 2))),
        ["shape (2, 2)", "expected ()", "`t=1.5`"],
    ),
    "not a number": (lambda: ew.solve(problem(), t=float("nan")), ["nan", "finite", "[1.0, 2.0]"]),
    "text for a number": (lambda: ew.solve(problem(), t="a lot"), ["'a lot'", "[1.0, 2.0]", "`t=1.5`"]),
    "batches of different lengths": (
        lambda: ew.solve(
            problem(ew.Ellipse(), ew.Box(a=(1, 2), b=(1, 2))), a=jnp.array([1.0, 1.5]), b=jnp.array([1.0, 1.5, 2.0])
        ),
        ["'a': 2", "'b': 3", "equally many"],
    ),
    "range upside down": (lambda: ew.Box(t=(2.0, 1.0)), ["low = 2.0", "low <= high", "`Box(t=(1.0, 2.0))`"]),
    "reserved name": (lambda: ew.Box(tol=(0, 1)), ["`tol`", "cannot name a parameter", "Rename"]),
    "family names an unknown parameter": (
        lambda: problem(ew.StarCurve(lambda s, q: 1 + q)),
        ["`family` names `q`", "they are `t`", "`parameters=Box(t=(1.0, 2.0), q=(0.0, 1.0))`"],
    ),
    "data names an unknown parameter": (
        lambda: problem(data=lambda x, alpha: x[0]),
        ["`data` names `alpha`", "they are `t`", "Box(t=(1.0, 2.0), alpha=(0.0, 1.0))"],
    ),
    "data of the wrong shape": (
        lambda: ew.solve(problem(data=lambda x: x), t=1.5),
        ["shape (2,)", "expected one number, ()", "`data=lambda x: ...`"],
    ),
    "data that is NaN": (
        lambda: ew.solve(unit(data=lambda x: jnp.log(x[0]))),
        ["`data` is", "expected finite", "singularities of `data` off"],
    ),
    "curve of the wrong shape": (
        lambda: ew.solve(problem(ew.Curve(lambda s, t: jnp.stack([s, s, s]))), t=1.5),
        ["shape (3,)", "expected the two coordinates", "`Curve(lambda s, ...: (x, y))`"],
    ),
    "curve that crosses itself": (
        lambda: ew.solve(problem(ew.Curve(lambda s, t: (jnp.sin(s), jnp.sin(2 * s)))), t=1.5),
        ["crosses itself at t=1.5", "simple closed curve", "Narrow the `Box`"],
    ),
    "negative radius": (
        lambda: ew.solve(problem(ew.StarCurve(lambda s, t: jnp.cos(s) * t + 0.5)), t=1.5),
        ["crosses itself at t=1.5", "simple closed curve", "change `family`"],
    ),
    "curve with a cusp": (
        lambda: ew.solve(problem(ew.Curve(lambda s, t: (jnp.cos(s) ** 3, jnp.sin(s) ** 3))), t=1.5),
        ["stands still at t=1.5: dx/ds is 0 near s = 0", "expected a smooth curve", "Change the parametrisation"],
    ),
    "curve that does not close": (
        lambda: ew.solve(problem(ew.Curve(lambda s, t: (jnp.cos(0.9 * s), jnp.sin(0.9 * s)))), t=1.5),
        ["does not close at t=1.5", "must meet", "period 2π"],
    ),
    "coefficient that is NaN": (lambda: ew.Robin(float("nan")), ["nan", "finite number", "parameter's name"]),
    "coefficient function that is NaN": (
        lambda: ew.solve(unit(condition=ew.Robin(lambda x: jnp.log(x[0])))),
        ["coefficient of `Robin` is not finite", "expected finite", "whole boundary"],
    ),
    "coefficient of the wrong shape": (
        lambda: ew.solve(unit(condition=ew.Robin(lambda x: x))),
        ["shape (2,)", "expected one number, ()", "`Robin(lambda x: ...)`"],
    ),
    "charge of the wrong shape": (
        lambda: unit(side="exterior", at_infinity=[1.0, 2.0]),
        ["[1.0, 2.0]", '"bounded", one number', "`at_infinity=1.0`"],
    ),
    "nothing to move": (lambda: ew.Scale("C", 2), ["got 'C'", "Expected a family", "`Scale(Ellipse(2.0, 1.0), 0.5)`"]),
    "tolerance in words": (lambda: ew.solve(problem(), t=1.5, tol="a"), ["'a'", "between", "`tol=1e-10`"]),
    "batch sliced": (
        lambda: ew.solve(problem(), t=jnp.array([1.2, 1.5]), quadrature=ew.Kress(256))[0:1],
        ["slice(0, 1, None)", "one whole number", "`[batch[i] for i in ...]`"],
    ),
    "points in words": (lambda: ew.solve(unit())("ab"), ["'ab'", "array of numbers", "`jnp.array([0.3, 0.2])`"]),
    "complex points": (lambda: ew.solve(unit())(jnp.array([0.1j, 0.2])), ["complex128", "real", "jnp.stack"]),
    "odd number of nodes": (lambda: ew.Kress(255), ["got 255", "must be even", "`Kress(256)`"]),
    "no nodes": (lambda: ew.Kress(0), ["got 0", "at least 4", "`Kress(256)`"]),
    "rule that cannot resolve the single layer": (
        lambda: ew.solve(problem(), t=1.5, quadrature=ew.Trapezoid(256)),
        ["`Trapezoid(256)` resolves smooth", "log singularity", "Use `Kress(256)`"],
    ),
    "rule that cannot resolve the hypersingular layer": (
        lambda: ew.solve(
            problem(representation=ew.DoubleLayer(LAPLACE), condition=ew.Neumann()), t=1.5, quadrature=ew.Trapezoid(255)
        ),
        ["`Trapezoid(255)` resolves smooth", "hypersingular", "Use `Kress(256)`"],
    ),
    "training rule in solve": (
        lambda: ew.solve(problem(), t=1.5, quadrature=ew.Uniform(3000)),
        ["`Uniform`", "holds on its own nodes", "Use `Kress(3000)`"],
    ),
    "points of the wrong shape": (
        lambda: ew.solve(unit())(jnp.ones((4, 3))),
        ["shape (4, 3)", "expected (..., 2)", "`jnp.array([0.3, 0.2])`"],
    ),
    "points on the wrong side": (
        lambda: ew.solve(unit())(jnp.array([[0.0, 0.1], [2.0, 0.0]]), outside="error"),
        ["1 of 2 points", "[2.0, 0.0]", '"interior"'],
    ),
    "incompatible Neumann data": (
        lambda: ew.solve(unit(data=lambda x: 1.0 + x[0], condition=ew.Neumann())),
        ["integral 6.28319", "only if it is 0", "Subtract their mean"],
    ),
    "side misspelt": (lambda: problem(side="inside"), ["'inside'", '"interior", "exterior" or "both"', "Write"]),
    "double layer on both sides": (
        lambda: problem(side="both", representation=ew.DoubleLayer(LAPLACE)),
        ["DoubleLayer with Dirichlet data on side 'both'", "jumps", "Use `SingleLayer(kernel)`"],
    ),
    "charge inside": (lambda: problem(at_infinity=1.0), ["at_infinity=1.0", '"interior"', "Leave it out"]),
    "kernel instead of a representation": (
        lambda: problem(representation=LAPLACE),
        ["got Laplace", "must be a representation", "SingleLayer(Laplace(dim=2))"],
    ),
    "three dimensions": (lambda: ew.Laplace(dim=4), ["dim = 4", "dim = 2", "`Laplace(dim=2)`"]),
    "tolerance of nothing": (lambda: ew.solve(problem(), t=1.5, tol=0.0), ["got 0.0", "between", "`tol=1e-10`"]),
    "chunk of nothing": (lambda: ew.solve(problem(), t=1.5, chunk=0), ["got 0", "at least 1", "`chunk=64`"]),
    "method misspelt": (lambda: ew.solve(problem(), t=1.5, method="lu"), ["'lu'", '"direct" or "gmres"', "Write"]),
    "bare single layer on the unit circle": (
        lambda: ew.solve(unit(representation=ew.SingleLayer(LAPLACE, cure=False))),
        ["capacity is 1.000", "singular", "`SingleLayer(..., cure=True)`"],
    ),
    "Robin without coefficient": (lambda: ew.Robin(0), ["Robin(0)", "other than 0", "`Neumann()`"]),
    "degree of nothing": (lambda: ew.FourierCurve(0), ["got 0", "at least 1", "`FourierCurve(degree=3)`"]),
    "operator of an unknown parameter": (
        lambda: ew.pretrained("laplace-star")(t=1.5, q=3),
        ["Unknown parameter `q`", "Write `operator(t=1.5)`"],
    ),
    "operator without its parameter": (
        lambda: ew.pretrained("laplace-star")(),
        ["`t` is missing; expected a number in [1.0, 2.0]", "Write `operator(t=1.5)`"],
    ),
    "parameter of a problem that has none": (
        lambda: ew.solve(unit(), t=1.5),
        ["Unknown parameter `t`", "has none", "Write `solve(problem)`"],
    ),
    "shape of a batch of vectors": (
        lambda: ew.solve(problem(box=ew.Box(t=(1, 2), v=([0, 0], [1, 1]))), t=1.5, v=jnp.ones((2, 3))),
        ["shape (2, 3); expected (2,), or (members, 2) for a batch"],
    ),
    "three coordinates of a source in the plane": (
        lambda: scattering(ew.PointSource((2.0, 0.0, 0.0))),
        ["`position` has 3 components", "2 dimensions expected 2", "`PointSource((2.0, 0.0))`"],
    ),
    "a source by one number": (
        lambda: scattering(ew.PointSource("k")),
        ["`position` has a single number", "expected 2", "`PointSource((2.0, 0.0))`"],
    ),
    "three coordinates of a direction in the plane": (
        lambda: scattering(ew.PlaneWave((0.0, 0.0, 1.0))),
        ["`direction` has 3 components", "expected 2", "`PlaneWave((1.0, 0.0))`"],
    ),
    "an angle in space": (
        lambda: ew.Problem(ew.Sphere(), None, ew.CombinedField(ew.Helmholtz(3, 1.0)), ew.PlaneWave(0.3), "exterior"),
        ["`direction` is an angle, which is for the plane", "`PlaneWave((1.0, 0.0, 0.0))`"],
    ),
    "complex coupling": (lambda: ew.CombinedField(HELMHOLTZ, 1j), ["`coupling` must be positive, got 1j"]),
    "negative coupling": (lambda: ew.CombinedField(HELMHOLTZ, -2), ["`coupling` must be positive, got -2.0"]),
    "negative coupling by name": (
        lambda: ew.solve(scattering(ew.PlaneWave(0.0), "eta"), k=1.0, eta=-1.0),
        ["`coupling` must be positive, got eta = -1.0"],
    ),
    "no semi-axis, outside the box": (
        lambda: ew.solve(ELLIPSOIDS, a=0.0, extrapolate=True),
        ["Semi-axis `a` must be positive, got a = 0.0"],
    ),
    "negative semi-axis of a body that was moved": (
        lambda: ew.solve(MOVED, a=-1.0, extrapolate=True),
        ["Semi-axis `a` must be positive, got a = -1.0"],
    ),
    "a box that begins at wavenumber 0": (
        lambda: ew.fit(scattering(ew.PlaneWave(0.0))),
        ["The wavenumber of `Helmholtz` is 0.0", "`Laplace(dim=2)`", "The `Box` reaches there: narrow it"],
    ),
    "value without a name, to an operator": (
        lambda: ew.pretrained("laplace-star")(1.5),
        ["given by name, got 1.5 without one", "`operator(t=1.5)`"],
    ),
    "value without a name": (lambda: ew.solve(problem(), 1.5), ["got 1.5 without one", "`solve(problem, t=1.5)`"]),
    "coordinates one by one": (
        lambda: ew.pretrained("laplace-star")(t=1.5)(0.1, 0.2),
        ["one array", "got 2 arguments", "`solution([0.1, 0.2])`"],
    ),
    "arrays of coordinates": (
        lambda: ew.pretrained("laplace-star")(t=1.5).gradient(np.ones(3), np.ones(3)),
        ["got 2 arguments", "`solution.gradient(jnp.stack([x, y], axis=-1))`"],
    ),
    "operator almost called so": (
        lambda: ew.pretrained("helmholtz-shape"),
        ["'helmholtz-shape'", "Did you mean `helmholtz-shapes`?", '`pretrained("helmholtz-shapes")`'],
    ),
    "preset almost called so": (
        lambda: ew.preset("laplace-stra"),
        ["'laplace-stra'", "Did you mean `laplace-star`?", '"laplace-data"'],
    ),
    "vector that is missing": (
        lambda: ew.solve(ew.preset("laplace-shapes"), b=[0.0] * 4),
        ["`a` is missing", "4 numbers in [-0.1, 0.1]", "a=(0.06, -0.04, 0.02, -0.06)"],
    ),
    "entry of a vector outside the box": (
        lambda: ew.solve(ew.preset("laplace-shapes"), a=[0.0, 0.0, 0.0, 0.3], b=[0.0] * 4),
        ["`a[3]` must lie in [-0.1, 0.1], got 0.3"],
    ),
    "name that does not exist": (lambda: ew.Kres, ["`Kres`", "it has", "Kress"]),
}


@pytest.mark.parametrize("case", CASES)
def test_message(case):
    call, words = CASES[case]
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        call()
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is missing from: {message}"


def test_single_precision_names_both_cures():
    code = (
        "import edgewise as ew\n"
        "p = ew.Problem(ew.Ellipse(2.0, 1.0), None, ew.SingleLayer(ew.Laplace(2)), lambda x: x[0], 'interior')\n"
        "try:\n    ew.solve(p)\n"
        "except RuntimeError as error:\n    print(error)\n"
        "print(abs(float(ew.solve(p, dtype='float32')([0.3, 0.2])) - 0.3) < 1e-4)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment(), check=True)
    assert "x64 is off" in out.stdout and "`ew.enable_x64()`" in out.stdout and "JAX_ENABLE_X64=1" in out.stdout
    assert 'dtype="float32"' in out.stdout and "True" in out.stdout


def test_importing_changes_no_setting_and_loads_no_jax():
    code = "import sys, edgewise; print('jax' in sys.modules); import jax; edgewise.Kress; print(jax.config.jax_enable_x64)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment(), check=True)
    assert out.stdout.split() == ["False", "False"]


def test_a_clockwise_curve_is_only_turned_round():
    clockwise = ew.Problem(
        ew.Curve(lambda s: (jnp.cos(s), -2 * jnp.sin(s))), None, ew.SingleLayer(LAPLACE), entire, "interior"
    )
    assert abs(ew.solve(clockwise)(jnp.array([0.1, 1.9])) - entire(jnp.array([0.1, 1.9]))) < 1e-12


def test_extrapolation_is_allowed_when_asked_for():
    solution = ew.solve(problem(), t=2.05, extrapolate=True)
    assert abs(solution(jnp.array([0.1, 0.1])) - entire(np.array([0.1, 0.1]))) < 1e-10


def _environment():
    import os

    return {key: value for key, value in os.environ.items() if key != "JAX_ENABLE_X64"}


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ew.Helmholtz(2, 0.0), "is 0.0; expected a positive number.*Laplace"),
        (lambda: ew.Helmholtz(2, 1 - 1j), r"is \(1-1j\).*b > 0"),
        (lambda: ew.Helmholtz(4, 1.0), "available for dim = 2 or 3, got dim = 4"),
        (lambda: ew.Biharmonic(3), "available for dim = 2, got dim = 3"),
        (lambda: ew.Helmholtz(2, (1.0, 2.0)), r'must be one number or a parameter.*wavenumber="k"\)` with `Box'),
        (lambda: ew.ModifiedHelmholtz(2, -2.0), "is -2.0; expected a positive number"),
        (lambda: ew.PlaneWave((1.0, 1.0)), "unit vector, got one of length 1.41421"),
        (lambda: ew.PlaneWave(((1.0, 0.0), (0.0, 1.0))), r"has shape \(2, 2\); expected a unit vector, an angle"),
        (lambda: ew.PointSource(3.0), "`position` must be one point"),
        (lambda: ew.PointSource((("along", 1.0),)), "`position` must be one point"),
        (lambda: ew.CombinedField(ew.Helmholtz(2, 1.0), (1.0, 2.0)), "`coupling` must be one number"),
        (lambda: problem(representation=ew.CombinedField(LAPLACE), side="exterior"), "no resonances to cure"),
        (lambda: problem(representation=ew.SingleLayer(ew.Biharmonic(2))), "of order 4. Use `LayerPair"),
        (lambda: problem(representation=ew.LayerPair(LAPLACE)), "of order 2. Use `SingleLayer"),
        (lambda: problem(representation=ew.LayerPair(ew.Biharmonic(2))), "Use `condition=Clamped"),
        (lambda: problem(condition=ew.Clamped()), "`Clamped` prescribes two numbers"),
        (lambda: problem(data=ew.PlaneWave(0.0)), "a plane wave needs a wavenumber"),
        (lambda: problem(side="exterior", representation=WAVES, at_infinity=1.0), "which is for `Laplace`"),
    ],
)
def test_waves_and_plates_refuse_with_words(build, words):
    with pytest.raises(ValueError, match=words):
        build()


WAVES = ew.SingleLayer(ew.Helmholtz(2, 3.0))


def test_waves_say_what_they_have():
    circle = ew.Ellipse(1.0, 1.0)
    laplace = ew.solve(ew.Problem(circle, None, ew.SingleLayer(LAPLACE), entire, "interior"))
    with pytest.raises(AttributeError, match="`far_field` is for waves"):
        laplace.far_field(jnp.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="no incident wave"):
        laplace.total(jnp.array([0.1, 0.0]))
    waves = ew.Problem(
        circle, ew.Box(k=(0.0, 5.0)), ew.CombinedField(ew.Helmholtz(2, "k")), ew.PlaneWave(0.0), "exterior"
    )
    with pytest.raises(ValueError, match=r"wavenumber of `Helmholtz` is 0\.0"):
        ew.solve(waves, k=jnp.array([1.0, 0.0]))
    solution = ew.solve(waves, k=1.0, quadrature=ew.Kress(64))
    with pytest.raises(ValueError, match="unit vectors, got one of length 2"):
        solution.far_field(jnp.array([2.0, 0.0]))
    with pytest.raises(ValueError, match=r"shape \(\); .*A direction is a unit vector, `jnp.array\(\[1.0, 0.0\]\)`"):
        solution.far_field(0.3)
    with pytest.raises(AttributeError, match="far_field"):
        _ = solution.at_infinity
    clamped = ew.Problem(circle, None, ew.LayerPair(ew.Biharmonic(2)), entire, "interior", condition=ew.Clamped())
    with pytest.raises(ValueError, match=r"expected u and ∂u/∂n, two numbers"):
        ew.solve(clamped)
