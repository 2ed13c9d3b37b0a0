"""The kernel of Stokes's equations: equations, identities, jumps, and its values on a curve and close to it."""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.stokes import stokeslet, stokeslet_pressure, stokeslet_traction

import edgewise as ew
from edgewise.kernels.stokes import Stokes
from edgewise.quadrature.curves.close import CLOSE_OVERSAMPLING, SmoothSource
from edgewise.quadrature.curves.periodic import Kress, circulant_rows, coincidence, log_correction
from edgewise.quadrature.curves.source import Layers, plain_weights
from edgewise.special import derivative

PLANE, SPACE = Stokes(dim=2), Stokes(dim=3)
LAYERS = ["single", "double"]
NODES = 128
# Outside the ellipse: a field that is regular inside.
PLACE, FORCE = np.array([1.1, 0.9]), np.array([0.7, -0.4])


def random(*shape):
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape))


def unit(vectors):
    return vectors / jnp.linalg.norm(vectors, axis=-1, keepdims=True)


def ellipse(count):
    s, step = (jnp.asarray(part) for part in Kress(count).grid())
    return ew.Ellipse(1.0, 0.7).boundary(s, step, {})


@pytest.fixture(scope="module")
def curve():
    return ellipse(NODES)


@pytest.fixture(scope="module")
def fine():
    return SmoothSource(ellipse(CLOSE_OVERSAMPLING * NODES))


def density(s):
    """A smooth one, neither normal nor constant, whose integral is not zero."""
    return jnp.stack([jnp.exp(jnp.sin(s)), 0.3 + jnp.cos(2 * s + 0.4)], axis=-1)


def layers_of(source, curve, single, double):
    """Densities at the nodes of a curve, or None, ready for sums close to it."""
    spread = jax.vmap(source.spread)
    on = None if single is None else spread((single * curve.jacobian[:, None]).T)
    if double is None:
        return Layers(source, on, None, None)
    return Layers(source, on, spread(double.T), spread(jax.vmap(derivative)(double.T)))


@jax.jit
def near(layers, targets, left):
    """Velocities, their gradients and pressures; always at 16 targets, so that few functions are compiled."""

    def velocity(x):
        return PLANE.potential(layers, x, layers.source.weights(x, left)[0])

    def one(x):
        return velocity(x), jax.jacfwd(velocity)(x), PLANE.pressure(layers, x, layers.source.weights(x, left)[0])

    return jax.vmap(one)(targets)


def every(step, nodes, start=0):
    return jax.tree_util.tree_map(lambda leaf: leaf[start::step], nodes)


def traction(gradient, pressure, normal):
    return jnp.einsum("tij,tj->ti", gradient + gradient.swapaxes(1, 2), normal) - pressure[:, None] * normal


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("kernel", [PLANE, SPACE], ids=["plane", "space"])
def test_layers_solve_the_equations(kernel, layer, measured):
    d, normal = random(20, kernel.dim), unit(random(21, kernel.dim)[:20])
    d = d * (0.5 + 1 / jnp.linalg.norm(d, axis=-1, keepdims=True))

    def terms(d, normal):
        velocity = lambda d: kernel.layer(layer, d, d, normal)
        gradient = jax.jacfwd(velocity)
        hessian, slope = jax.jacfwd(gradient)(d), jax.jacfwd(lambda d: kernel.pressure_layer(layer, d, normal))(d)
        equation = -jnp.einsum("ijkk->ij", hessian) + slope.T
        matches = kernel.gradient_layer(layer, d, normal) - gradient(d)
        return jnp.einsum("iji->j", gradient(d)), equation, matches

    for name, part in zip(("divergence", "equation", "gradient"), jax.jit(jax.vmap(terms))(d, normal), strict=True):
        measured(f"Stokes, {kernel.dim}D, {layer}, {name}", float(jnp.max(jnp.abs(part))), 1e-12)


@pytest.mark.parametrize("kernel", [PLANE, SPACE], ids=["plane", "space"])
def test_adjoint_double_layer_is_the_traction_of_the_single_layer(kernel, measured):
    d, target, source = random(20, kernel.dim), unit(random(21, kernel.dim)[:20]), unit(random(22, kernel.dim)[:20])

    def stress(d, normal):
        gradient, pressure = kernel.gradient_layer("single", d, normal), kernel.pressure_layer("single", d, normal)
        symmetric = jnp.einsum("ijk,k->ij", gradient, normal) + jnp.einsum("kji,k->ij", gradient, normal)
        return symmetric - jnp.outer(normal, pressure)

    adjoint = kernel.layer("adjoint_double", d, target, source)
    scale = jnp.max(jnp.abs(adjoint))
    error = jnp.max(jnp.abs(jax.jit(jax.vmap(stress))(d, target) - adjoint)) / scale
    measured(f"Stokes, {kernel.dim}D, traction", float(error), 1e-13)
    exchanged = kernel.layer("double", -d, source, target).swapaxes(-1, -2)
    measured(f"Stokes, {kernel.dim}D, transpose", float(jnp.max(jnp.abs(adjoint - exchanged))) / float(scale), 1e-15)
    # The same as a call, and linear in the normal.
    tripled = kernel.layer("double", d, target, 3 * source) - 3 * kernel.layer("double", d, target, source)
    assert float(jnp.max(jnp.abs(tripled))) < 1e-12 * float(scale)


def test_layers_that_are_not_there_say_so():
    one = jnp.ones(2)
    with pytest.raises(NotImplementedError, match="no hypersingular layer"):
        PLANE.layer("hypersingular", one, one, one)
    with pytest.raises(ValueError, match="got 'adjoint_double'"):
        PLANE.pressure_layer("adjoint_double", one, one)
    with pytest.raises(ValueError, match="must be one of"):
        PLANE.layer("triple", one, one, one)
    assert PLANE.layer("single", one.astype(jnp.float32), one, one).dtype == jnp.float32
    assert PLANE.value_shape == (2, 2) and SPACE.value_shape == (3, 3)


def test_identities_on_the_sphere(measured):
    """D e = -e inside, -e/2 on it, 0 outside; S e = 2e/3 on the unit sphere and inside; S n = 0."""
    # Polar coordinates round a target at the pole or above and below it: on the sphere the area element cancels 1/r.
    z, z_weight = np.polynomial.legendre.leggauss(40)
    theta, step = np.pi * (z + 1) / 2, np.pi / 2 * z_weight
    phi = 2 * np.pi * np.arange(40) / 40
    t, p = (part.reshape(-1) for part in np.meshgrid(theta, phi, indexing="ij"))
    normal = np.stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)], axis=-1)
    weight = np.repeat(step, 40) * np.sin(t) * 2 * np.pi / 40
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    normal = jnp.asarray(normal @ turn.T)
    for height, inside in ((0.3, 1.0), (1.0, 0.5), (2.0, 0.0)):
        target = jnp.asarray(height * turn[:, 2])
        d = target - normal
        double = jnp.einsum("n,nij->ij", weight, SPACE.layer("double", d, normal, normal))
        measured(f"Stokes, sphere, D e at {height}", float(jnp.max(jnp.abs(double + inside * jnp.eye(3)))), 1e-12)
        values = SPACE.layer("single", d, normal, normal)
        along = jnp.einsum("n,nij,nj->i", weight, values, normal)
        measured(f"Stokes, sphere, S n at {height}", float(jnp.max(jnp.abs(along))), 1e-12)
        if inside:
            single = jnp.einsum("n,nij->ij", weight, values) - 2 / 3 * jnp.eye(3)
            measured(f"Stokes, sphere, S e at {height}", float(jnp.max(jnp.abs(single))), 1e-12)
            if inside == 1:
                pressure = jnp.einsum("n,nj,nj->", weight, SPACE.pressure_layer("single", d, normal), normal)
                measured("Stokes, sphere, pressure of S n inside", abs(float(pressure) + 1), 1e-12)


@pytest.mark.parametrize("layer", ["single", "double", "adjoint_double"])
def test_parts_and_limit_along_a_curve(layer, measured):
    d, target, source = random(20, 2), unit(random(21, 2)[:20]), unit(random(22, 2)[:20])
    parts = PLANE.log_factor(layer, d, target, source) * jnp.log(jnp.sum(d**2, axis=-1))[:, None, None]
    error = parts + PLANE.rest(layer, d, target, source) - PLANE.layer(layer, d, target, source)
    measured(f"Stokes, parts of {layer}", float(jnp.max(jnp.abs(error))), 1e-14)

    def at(s):
        return ew.Ellipse(1.0, 0.7).boundary(jnp.asarray(s), jnp.ones_like(jnp.asarray(s)), {})

    here = at(jnp.linspace(0, 6, 7))
    levels = []
    for h in 0.4 * 0.5 ** np.arange(6):
        both = []
        for step in (h, -h):
            there = at(here.s + step)
            d = here.x - there.x
            value = PLANE.layer(layer, d, here.normal, there.normal)
            both.append(value - PLANE.log_factor(layer, d, here.normal, there.normal) * np.log(4 * np.sin(h / 2) ** 2))
        levels.append((both[0] + both[1]) / 2)
    for order in range(1, 6):
        levels = [(4**order * b - a) / (4**order - 1) for a, b in pairwise(levels)]
    error = levels[0] - PLANE.limit(layer, here.normal, here.jacobian, here.curvature)
    measured(f"Stokes, limit of {layer}", float(jnp.max(jnp.abs(error))), 1e-10)


@partial(jax.jit, static_argnums=0)
def kress(layer, curve, density):
    """Values of a layer at the nodes, by Kress's rule from the kernel's own parts."""
    n = len(curve.s)
    same = coincidence(n, n)[..., None, None]
    d = curve.x[:, None] - curve.x
    d = jnp.where(same[..., 0], 1.0, d)
    normals = jnp.broadcast_to(curve.normal[:, None], d.shape), jnp.broadcast_to(curve.normal, d.shape)
    limit = PLANE.limit(layer, curve.normal, curve.jacobian, curve.curvature)
    values = jnp.where(same, limit[:, None], PLANE.layer(layer, d, *normals))
    correction = jnp.asarray(circulant_rows(log_correction(n), n))[..., None, None]
    matrix = values + PLANE.log_factor(layer, d, *normals) * correction
    return jnp.einsum("abij,bj->ai", matrix, density * curve.weight[:, None])


@pytest.mark.parametrize("layer", LAYERS)
def test_limits_from_both_sides(layer, curve, fine, measured):
    """On the curve Kress's rule is the mean of the limits; velocity and traction jump as they should."""
    values = density(curve.s)
    parts = (values, None) if layer == "single" else (None, values)
    layers = layers_of(fine, curve, *parts)
    here = every(8, curve)
    inside, outside = (near(layers, here.x, left) for left in (True, False))
    tractions = [traction(side[1], side[2], here.normal) for side in (inside, outside)]
    worst = lambda x: float(jnp.max(jnp.abs(x)))
    measured(
        f"Stokes, mean of {layer} on the curve",
        worst((inside[0] + outside[0]) / 2 - kress(layer, curve, values)[::8]),
        1e-11,
    )
    jump = values[::8] if layer == "double" else 0
    measured(f"Stokes, jump of {layer}", worst(outside[0] - inside[0] - jump), 1e-11)
    jump = -values[::8] if layer == "single" else 0
    measured(f"Stokes, jump of the traction of {layer}", worst(tractions[1] - tractions[0] - jump), 1e-9)
    if layer == "single":
        mean = kress("adjoint_double", curve, values)[::8]
        measured("Stokes, traction on the curve", worst((tractions[0] + tractions[1]) / 2 - mean), 1e-9)
    else:
        constant = jnp.broadcast_to(jnp.array([1.0, -2.0]), values.shape)
        measured("Stokes, D e on the curve", worst(kress("double", curve, constant) + constant / 2), 1e-13)


@pytest.mark.parametrize("layer", LAYERS)
def test_beside_the_curve_against_the_plain_rule(layer, curve, fine, measured):
    values = density(curve.s)
    parts = (values, None) if layer == "single" else (None, values)
    here = every(16, curve)
    targets = jnp.concatenate([here.x + 0.05 * here.normal, here.x - 0.05 * here.normal])
    many = ellipse(2048)
    charge = density(many.s) * many.weight[:, None]
    d = targets[:, None] - many.x
    normal = jnp.broadcast_to(many.normal, d.shape)
    truth = (
        jnp.einsum("tnij,nj->ti", PLANE.layer(layer, d, d, normal), charge),
        jnp.einsum("tnijk,nj->tik", PLANE.gradient_layer(layer, d, normal), charge),
        jnp.einsum("tnj,nj->t", PLANE.pressure_layer(layer, d, normal), charge),
    )
    made = near(layers_of(fine, curve, *parts), targets, True)
    names = ("velocity", "gradient", "pressure")
    for name, a, b, bound in zip(names, made, truth, (1e-12, 1e-11, 1e-12), strict=True):
        error = float(jnp.max(jnp.abs(a - b)) / jnp.maximum(1, jnp.max(jnp.abs(b))))
        measured(f"Stokes, {name} of {layer} at 0.05", error, bound)


def test_weights_of_the_plain_rule_away_from_the_curve(curve, fine, measured):
    """By parts or not, the sums are the same."""
    values = density(curve.s)
    layers, target = layers_of(fine, curve, None, values), jnp.array([0.1, 0.05])
    d = target - curve.x
    truth = jnp.einsum("nij,nj,n->i", PLANE.layer("double", d, d, curve.normal), values, curve.weight)
    made = PLANE.potential(layers, target, plain_weights(fine, target))
    measured("Stokes, plain rule", float(jnp.max(jnp.abs(made - truth))), 1e-13)


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-8])
def test_green_formula_of_a_point_force(distance, curve, fine, measured):
    """u = S σn - D u inside, 0 outside, as close as one likes."""
    u = jnp.asarray(stokeslet(curve.x, PLACE, FORCE))
    stress = jnp.asarray(stokeslet_traction(np.asarray(curve.x), np.asarray(curve.normal), PLACE, FORCE))
    here = every(16, curve, 3)
    targets = jnp.concatenate([here.x - distance * here.normal, here.x + distance * here.normal])
    layers = layers_of(fine, curve, stress, -u)
    exact = (
        stokeslet(targets, PLACE, FORCE),
        PLANE.gradient_layer("single", targets - PLACE, targets).swapaxes(2, 3) @ FORCE,
        stokeslet_pressure(targets, PLACE, FORCE),
    )
    inside = jnp.arange(len(targets)) < len(here.x)
    bounds = (1e-13, 1e-11, 1e-12)
    names = ("velocity", "gradient", "pressure")
    for name, made, truth, bound in zip(names, near(layers, targets, True), exact, bounds, strict=True):
        truth = jnp.where(inside.reshape(-1, *[1] * (made.ndim - 1)), truth, 0)
        measured(f"Stokes, Green's formula, {name} at {distance:.0e}", float(jnp.max(jnp.abs(made - truth))), bound)
