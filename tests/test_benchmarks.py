"""The benchmarks at tiny sizes: competitors must compute the same numbers. How fast they are is not asked here."""

import json

import numpy as np
import pytest

import edgewise as ew
from benchmarks import (
    batch_solve,
    evaluation,
    many_parameters,
    operators,
    papers_step,
    scattering,
    space,
    startup,
    twenty_coefficients,
    wave_operators,
)
from benchmarks.__main__ import main

ew.enable_x64()


def test_batch_solve_agrees_with_an_independent_numpy_loop():
    result = batch_solve.run(quick=True)
    assert result["difference"] < 1e-8
    assert result["ratio"] == min(result["ratios"].values())
    assert all(peak > 0 for peak in result["peak_megabytes"].values())
    assert batch_solve.describe(result)


def test_the_numpy_loop_solves_the_equation():
    # Kress's rule is exact for the logarithm of a single mode: S e^{iks} = e^{iks} / 2|k| on the unit circle.
    n, k = 32, 3
    weights = batch_solve.kress_weights(n)
    s = 2 * np.pi * np.arange(n) / n
    square = 4 * np.sin((s[:, None] - s) / 2) ** 2
    np.fill_diagonal(square, 1)
    single = -(weights + 2 * np.pi / n * np.log(square)) / (4 * np.pi)
    assert np.allclose(single @ np.cos(k * s), np.cos(k * s) / (2 * k), atol=1e-13)


@pytest.mark.slow
def test_evaluation_is_right_where_the_plain_rule_is_not():
    cases = evaluation.run(quick=True)["cases"]
    assert cases["far"]["max_error"]["edgewise"] < 1e-11
    assert cases["far"]["max_error"]["numpy trapezoid"] < 1e-6
    assert cases["near"]["max_error"]["edgewise"] < 1e-11
    assert cases["near"]["max_error"]["numpy trapezoid"] > 1e-3


@pytest.mark.slow
def test_operators_of_waves_agree_with_solve():
    result = wave_operators.run(quick=True)
    (case,) = result["cases"].values()
    assert case["kind"] == "expansion" and case["worst"] < 1e-2 and wave_operators.describe(result)


def test_operators_agree_with_solve():
    result = operators.run(quick=True)
    assert result["difference"] < 1e-9 and operators.describe(result)


@pytest.mark.slow
def test_interpolation_needs_few_solves_in_one_parameter():
    result = many_parameters.run(quick=True)
    assert [case["family"] for case in result["cases"]] == ["shapes", "waves"]
    for case, error in zip(result["cases"], (1e-3, 1e-1), strict=True):
        assert case["seconds"] > 0 and case["interpolation"][0]["solves"] <= case["solves"]
        # With one parameter interpolation is there already.
        assert case["interpolation"][-1]["worst"] < 1e-10 and case["operator"]["worst"] < error
    assert many_parameters.describe(result)


@pytest.mark.slow
def test_twenty_coefficients_are_trained_and_measured():
    result = twenty_coefficients.run(quick=True)
    assert result["worst"] < 1 and twenty_coefficients.describe(result)


def test_the_papers_step_is_counted():
    result = papers_step.run(quick=True)
    # 100 x 100 from features and twice between layers, 100 x 2 to the density.
    assert result["flops"] == 2 * 40 * 400 * 16 + 2 * 400 * 2 * (2 * 10_000 + 3 * 20_200)
    assert result["ratio"] > 0 and papers_step.describe(result)


def test_scattering_agrees_with_an_independent_scipy_loop():
    result = scattering.run(quick=True)
    assert result["difference"] < 1e-9 and scattering.describe(result)


@pytest.mark.slow
def test_half_balls_agree_with_what_is_stored():
    result = space.run(quick=True)
    assert result["error"] < 3e-2 and space.describe(result)


def test_startup_commands_succeed_and_the_record_is_written(tmp_path, capsys):
    out = tmp_path / "deep" / "benchmarks.json"
    assert main(["startup", "--quick", "--out", str(out)]) == 0
    record = json.loads(out.read_text())
    assert set(record["results"]["startup"]["exit_codes"].values()) == {0}
    assert set(record["results"]["startup"]["median"]) == set(startup.COMMANDS)
    assert record["versions"]["jax"] and record["cores"] and record["date"]
    assert list(out.parent.iterdir()) == [out]


def test_unknown_name_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["nothing"])
    assert stop.value.code == 2
    assert "batch_solve" in capsys.readouterr().err
