"""Answers from mathematics: Gauss's and Green's identities, eigenvalues on the circle, measured orders."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import FAMILIES, LAPLACE, entire

import edgewise as ew
from edgewise.kernels import LAYERS

# Sharp curves need more nodes than round ones.
NODES = {"paper": 320}


def place(name, nodes=None):
    family, _, member = FAMILIES[name]
    rule = ew.Kress(nodes or NODES.get(name, 160))
    return rule, rule.place(family, member, np.float64)


@pytest.mark.parametrize("name", FAMILIES)
def test_gauss(name):
    """D 1 = -1/2 on the curve; D' integrates a density to minus half its integral; T 1 = 0."""
    rule, nodes = place(name)
    one = jnp.ones(rule.num_nodes)
    assert jnp.max(jnp.abs(rule.matrix(LAPLACE, "double", nodes) @ one + 0.5)) < 1e-12
    adjoint = nodes.weight @ rule.matrix(LAPLACE, "adjoint_double", nodes)
    smooth = jnp.cos(jnp.arange(rule.num_nodes) * 4 * np.pi / rule.num_nodes) / nodes.jacobian
    assert abs(adjoint @ smooth + nodes.weight @ smooth / 2) < 1e-12
    assert jnp.max(jnp.abs(rule.matrix(LAPLACE, "hypersingular", nodes) @ one)) < 1e-9


@pytest.mark.parametrize("name", FAMILIES)
def test_gauss_off_the_curve(name):
    """A double layer of density one is -1 inside and 0 outside: here by solving for it."""
    family, box, member = FAMILIES[name]
    _, nodes = place(name)
    one = ew.Problem(family, ew.Box(**box), ew.DoubleLayer(LAPLACE), lambda x: 1.0, "interior")
    solution = ew.solve(one, **member)
    close = nodes.x - 1e-6 * nodes.normal
    assert jnp.max(jnp.abs(solution(close) - 1)) < 1e-10
    # The jump across the curve is the density: nothing outside.
    assert np.all(np.isnan(solution(nodes.x + 1e-6 * nodes.normal)))


@pytest.mark.parametrize("name", FAMILIES)
def test_green(name):
    """S ∂u/∂n = (1/2 + D) u and T u = (D' - 1/2) ∂u/∂n, the latter with the sign of T = ∂D/∂n."""
    rule, nodes = place(name)
    u = jax.vmap(entire)(nodes.x)
    flux = jnp.sum(jax.vmap(jax.grad(entire))(nodes.x) * nodes.normal, axis=-1)
    single, double, adjoint, hyper = (rule.matrix(LAPLACE, layer, nodes) for layer in LAYERS)
    scale = float(jnp.max(jnp.abs(flux)))
    assert jnp.max(jnp.abs(single @ flux - u / 2 - double @ u)) < 1e-11 * scale
    assert jnp.max(jnp.abs(hyper @ u - (adjoint @ flux - flux / 2))) < 1e-8 * scale


@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_eigenvalues_on_a_circle(k):
    """cos kθ: S = R/2k, D = D' = 0 (-1/2 for k = 0), T = -k/2R."""
    radius = 1.7
    rule = ew.Kress(64)
    nodes = rule.place(ew.Ellipse(radius, radius), {}, np.float64)
    wave = jnp.cos(k * nodes.s)
    single, double, adjoint, hyper = (rule.matrix(LAPLACE, layer, nodes) @ wave for layer in LAYERS)
    assert jnp.max(jnp.abs(single - radius / (2 * k) * wave)) < 1e-13
    assert jnp.max(jnp.abs(double)) < 1e-13 and jnp.max(jnp.abs(adjoint)) < 1e-13
    assert jnp.max(jnp.abs(hyper + k / (2 * radius) * wave)) < 1e-11


@pytest.mark.parametrize("name", FAMILIES)
def test_geometry(name):
    """Unit normals that leave the domain, lengths and areas: ∫ n = 0, ∫ x·n = 2 area, ∫ curvature = 2π."""
    family, _, member = FAMILIES[name]
    nodes = ew.Trapezoid(1024).place(family, member, np.float64)
    assert jnp.max(jnp.abs(jnp.linalg.norm(nodes.normal, axis=-1) - 1)) < 1e-14
    assert jnp.max(jnp.abs(nodes.weight @ nodes.normal)) < 1e-12
    area = float(nodes.weight @ jnp.sum(nodes.x * nodes.normal, axis=-1)) / 2
    x, y = np.asarray(jax.vmap(lambda s: family.point(s, **member))(np.linspace(0, 2 * np.pi, 20000))).T
    assert area > 0 and abs(area - abs(np.trapezoid(x, y))) < 1e-5
    assert abs(nodes.measure - np.hypot(np.diff(x), np.diff(y)).sum()) < 1e-4
    assert abs(nodes.weight @ nodes.curvature - 2 * np.pi) < 1e-8
    # s is the coordinate that `point` takes, also where a clockwise curve was turned round.
    again = jax.vmap(lambda s: family.point(s, **member))(nodes.s)
    assert jnp.max(jnp.abs(again - nodes.x)) < 1e-13


def observed_rates(errors):
    return np.log(np.array(errors[:-1]) / np.array(errors[1:]))


def single_layer_errors(rule_of, counts):
    """Error of the single layer of cos 3s on an ellipse at points apart from the nodes, against a fine Kress rule."""
    family = ew.Ellipse(2.0, 1.0)
    fine = ew.Kress(480)
    nodes = fine.place(family, {}, np.float64)
    truth = fine.matrix(LAPLACE, "single", nodes) @ jnp.cos(3 * nodes.s)
    # Irrational to every node count used, so that no node meets a target.
    target = jax.tree_util.tree_map(lambda leaf: leaf[7::31], nodes)
    errors = []
    for count in counts:
        rule = rule_of(count)
        source = rule.place(family, {}, np.float64)
        value = rule.observe(LAPLACE, "single", target, source) @ jnp.cos(3 * source.s)
        errors.append(float(jnp.sqrt(jnp.mean((value - truth[7::31]) ** 2))))
    return errors


@pytest.mark.slow
def test_uniform_is_of_first_order():
    counts = [1009, 4001, 16001]
    errors = single_layer_errors(ew.Uniform, counts)
    order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert 0.7 < order < 1.3


@pytest.mark.slow
def test_monte_carlo_is_of_order_one_half():
    counts = [1000, 4000, 16000]
    errors = [
        np.mean(
            [single_layer_errors(lambda n, seed=seed: ew.MonteCarlo(n, seed=seed), [count])[0] for seed in range(6)]
        )
        for count in counts
    ]
    order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert 0.3 < order < 0.7


def test_truncation_replaces_what_is_not_a_number():
    rule = ew.Uniform(50, truncation=1e5)
    nodes = rule.place(ew.Ellipse(1.0, 1.0), {}, np.float64)
    matrix = rule.matrix(LAPLACE, "single", nodes)
    assert np.all(np.isfinite(matrix))
    assert np.allclose(np.diag(matrix), 1e5 * nodes.weight)


@pytest.mark.parametrize(
    ("rule", "representation"),
    [pytest.param(ew.Trapezoid, ew.DoubleLayer, marks=pytest.mark.slow), (ew.Kress, ew.SingleLayer)],
)
def test_geometric_convergence(rule, representation):
    """Each eight nodes more gain at least a fixed factor, until rounding."""
    problem = ew.Problem(ew.Ellipse(2.0, 1.0), ew.Box(), representation(LAPLACE), entire, "interior")
    point = jnp.array([0.5, 0.3])
    counts = [16, 24, 32, 40]
    errors = [float(abs(ew.solve(problem, quadrature=rule(n))(point) - entire(point))) for n in counts]
    assert np.all(observed_rates(errors) > 1) and errors[-1] < 1e-8
