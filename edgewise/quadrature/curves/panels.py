"""Targets anywhere in the plane, for curves cut into panels: what curves with corners need.

The coordinate σ is cut into panels, corners at their edges, with Gauss's nodes on each; a panel maps t in [-1, 1] to
ζ(t) = x + iy, a polynomial to rounding. With d = w - ζ and the complex t₀ where ζ(t₀) = w,

    log |d|² = log |t - t₀|² + log |E|²,    1/d = -1 / ((t - t₀) E),    E(t) = (ζ(t) - w) / (t - t₀),

E smooth and not zero, so that all that is singular are the moments of Legendre's polynomials

    ∫ P_k / (t - t₀) dt = M_k = -2 Q_k(t₀),    ∫ P_k log |t - t₀|² dt = 2 Re (M_{k-1} - M_{k+1}) / (2k + 1),  k ≥ 1.

Where nodes are graded like σ^p towards a corner, ζ = w has p roots on a circle about it, and the panels next to the
corner see three of them: all are taken out,

    1 / Π_i (t - t_i) = Σ_i 1 / (t - t_i) / Π_{j≠i} (t_i - t_j).

The other roots limit the polynomials that stand for 1/E, not those that stand for the density; the former have twice
the degree. Panels without a root in Bernstein's ellipse ρ = 3.2 take Gauss's rule as it is, which is exact there to
ρ^-32 = 1e-16. The panel that touches the corner sees all p roots: its weights of log |d|² are good, those of 1/d only
if the panel is much smaller than the distance of the target from the corner. Its size falls like the p-th power of its
length in σ, so panels should be halved towards a corner.

The method is that of L. af Klinteberg and A. H. Barnett, "Accurate quadrature of nearly singular line integrals in two
and three dimensions by singularity swapping", BIT 61 (2021).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float
from numpy.polynomial import legendre

from edgewise.kernels.nearby import Weights, as_complex

ORDER = 16
# Panels that are looked at for a root: those nearest to the target. A root is close to two or three of each side of a
# corner, or of either bank of a channel.
NEAR = 12
# Roots that are taken out of a panel.
ROOTS = 3
# Roots matter where ρ + 1/ρ, the sum of the distances to -1 and 1, is less than at ρ = 3.2.
REACH = 3.2 + 1 / 3.2
# Below ρ = 1.2 the recurrence of M_k runs forward, and loses ρ^FINE = 340 in the highest k. Above, it runs backward
# from a k so high that M_k is exact to rounding.
FINE = 2 * ORDER
FORWARD = 1.2 + 1 / 1.2
START = FINE + 72

NODES, _W = legendre.leggauss(ORDER)
_T_FINE, _W_FINE = legendre.leggauss(FINE)
# From nodal values to Legendre's coefficients; their transposes take moments to nodal weights.
_TRANSFORM, _TRANSFORM_FINE = (
    (np.arange(len(t))[:, None] + 0.5) * legendre.legvander(t, len(t) - 1).T * w
    for t, w in ((NODES, _W), (_T_FINE, _W_FINE))
)
# From nodal values of the velocity to the coefficients of ζ less its mean, and from coefficients to those of the
# derivative.
_INTEGRAL = np.stack([legendre.legint(row) for row in np.eye(ORDER)], axis=1) @ _TRANSFORM
_INTEGRAL[0] = 0
_SLOPE = np.stack([np.pad(legendre.legder(row), (0, 1)) for row in np.eye(ORDER + 1)])
# From coefficients to values at the ends and at the fine nodes.
_ENDS, _TO_FINE = (legendre.legvander(t, ORDER) for t in (np.array([-1.0, 1.0]), _T_FINE))


class Panels(eqx.Module):
    """The panels of closed curves, each followed by the one that begins where it ends."""

    anchor: Float[Array, "p 2"]
    """From where the positions of a panel are measured: the corner where it lies near one."""
    offset: Float[Array, "p 16 2"]
    """Position of the nodes minus anchor."""
    velocity: Float[Array, "p 16 2"]
    """dx/dσ."""
    half: Float[Array, " p"]
    """Half the length of a panel in σ."""


def panel_grid(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's nodes and weights in σ for the panels between consecutive edges, panel by panel."""
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * _W).ravel()


def panel_weights(
    panels: Panels, target: Float[Array, " 2"], left: bool
) -> tuple[Weights, Float[Array, ""], Bool[Array, ""]]:
    """Weights for log |d|² and 1/d at all nodes, the winding number, and whether the target lies on a curve.

    The curves wind 1 time about what they enclose on their left, 0 times about the rest. Within rounding of a curve the
    target belongs to either side, and takes the limit from the `left` one or from the right one.
    """
    dtype = panels.offset.dtype
    velocity, half = as_complex(panels.velocity), panels.half[:, None]
    away = as_complex(target) - as_complex(panels.anchor)
    d = away[:, None] - as_complex(panels.offset)

    # How far the target is from a node, in units of the panel's coordinate there.
    nodal = jax.lax.stop_gradient(square(d) / jnp.maximum(square(velocity * half), jnp.finfo(dtype).tiny))
    _, near = jax.lax.top_k(-jnp.min(nodal, axis=1), min(NEAR, d.shape[0]))
    start = jnp.asarray(NODES, dtype)[jnp.argmin(nodal[near], axis=1)]

    # Integrated from the velocity: the rounding of positions would be magnified by every derivative.
    modes = half * (velocity @ jnp.asarray(_INTEGRAL.T, dtype))
    away = away - as_complex(panels.offset) @ jnp.asarray(_W / 2, dtype)
    first, last, meets = _edges(modes, away)
    # That of the whole curve: a corner at the origin would know targets far better than their own coordinates do.
    size = jnp.maximum(jnp.max(jnp.abs(target)), jnp.max(jnp.abs(panels.anchor[:, None] + panels.offset)))
    rounding = jnp.full_like(panels.half, 64 * jnp.finfo(dtype).eps * jax.lax.stop_gradient(size))
    parts = (modes, away, panels.half, rounding, first, last)
    log, pole, applies, on_panel = jax.vmap(lambda panel: _swapped(*panel, left=left))(
        (*(x[near] for x in parts), start)
    )

    swapped = jnp.zeros(d.shape[:1], bool).at[near].set(applies)[:, None]
    # Where the other rule is taken, and where a node is nearer than can be squared, this one must stay finite.
    d = jnp.where(swapped | (square(d) < jnp.finfo(dtype).tiny), 1, d)
    gauss = half * jnp.asarray(_W, dtype)
    log = jnp.where(swapped, jnp.zeros_like(gauss).at[near].set(log), gauss * jnp.log(square(d)))
    pole = jnp.where(swapped, jnp.zeros_like(d).at[near].set(pole), gauss / d)
    winding = -jnp.sum(velocity * pole).imag / (2 * np.pi)
    on_boundary = jnp.any(on_panel) | jnp.any(meets & (jnp.abs(last) < rounding))
    return Weights(log.ravel(), pole.ravel()), winding, on_boundary


def _edges(modes: Array, away: Array) -> tuple[Array, Array, Array]:
    """Ends of every panel minus the target, and whether it meets the next one there.

    Panels that meet share one value, since their singular parts at the edge cancel to all digits only if both panels
    see the same edge.
    """
    first, last = jnp.asarray(_ENDS, away.real.dtype) @ modes.T - away
    following = jnp.roll(first, -1)
    size = jnp.max(jnp.abs(modes), axis=1)
    meets = jnp.abs(last - following) < 1e-3 * (size + jnp.roll(size, -1))
    last = jnp.where(meets, (last + following) / 2, last)
    return jnp.where(jnp.roll(meets, 1), jnp.roll(last, 1), first), last, meets


def _swapped(
    modes: Array, away: Array, half: Array, rounding: Array, first: Array, last: Array, start: Array, left: bool
) -> tuple[Array, Array, Array, Array]:
    """One panel: weights for log |d|² and 1/d, whether they apply, whether the target lies on the panel."""
    dtype, eps = half.dtype, jnp.finfo(half.dtype).eps
    # In units of the panel's size, so that no power of a tiny one underflows.
    scale = jnp.maximum(jax.lax.stop_gradient(jnp.max(jnp.abs(modes))), 1e3 * jnp.finfo(dtype).tiny)
    modes, w = modes / scale, away / scale

    roots, taken = _roots(modes, w, start)
    # What follows must stay finite where it is not used.
    roots = jnp.where(taken, roots, 2j)

    quotient = _divided(modes, roots[0])
    at_first, at_last = jnp.asarray(_ENDS, dtype) @ quotient
    plus = (1 - roots).at[0].set(_edge_distance(1 - roots[0], last / scale, at_last, half))
    minus = (1 + roots).at[0].set(-_edge_distance(-1 - roots[0], first / scale, at_first, half))
    slope = jnp.abs(_series(quotient, roots[0], 0)[0])
    tolerance = jax.lax.stop_gradient(jnp.minimum(rounding / (scale * jnp.maximum(slope, eps)), 0.1))
    on_line = jnp.abs(roots[0].imag) < tolerance
    up = (roots.imag > 0).at[0].set(jnp.where(on_line, left, roots[0].imag > 0))
    log, pole = jax.vmap(_moments)(roots, plus, minus, up)
    divide = lambda q, root: (jnp.where(root[1], _divided(q, root[0]), q), None)
    quotient, _ = jax.lax.scan(divide, quotient, (roots[1:], taken[1:]))
    pairs = taken[:, None] & taken & ~np.eye(ROOTS, dtype=bool)
    gaps = jnp.prod(jnp.where(pairs, roots[:, None] - roots, 1), axis=1)
    log, pole = taken.astype(dtype) @ log, (taken / gaps) @ pole

    quotient = jnp.asarray(_TO_FINE, dtype) @ quotient
    quotient = jnp.where(square(quotient) > eps**2, quotient, eps)
    quotient = jnp.where(taken[0], quotient, 1)
    to_fine = jnp.asarray(_TRANSFORM_FINE.T, dtype)
    log = to_fine @ log + jnp.asarray(_W_FINE, dtype) * (jnp.log(square(quotient)) + 2 * jnp.log(scale))
    from_fine = half * jnp.asarray((_TO_FINE[:, :ORDER] @ _TRANSFORM).T, dtype)
    log, pole = from_fine @ log, from_fine @ (to_fine @ pole / (-scale * quotient))
    on_panel = taken[0] & on_line & (jnp.abs(roots[0].real) < 1 + tolerance)
    return log, pole, taken[0], on_panel


def _roots(modes: Array, w: Array, start: Array) -> tuple[Complex[Array, " 3"], Bool[Array, " 3"]]:
    """Roots of ζ(t) = w, the first near `start`, and which of them exist and are within reach.

    No root counts after the first that does not exist or is out of reach.
    """
    eps = jnp.finfo(start.dtype).eps
    fixed, w_fixed = jax.lax.stop_gradient((modes, w))

    def search(known, i):
        found = jnp.arange(ROOTS) < i
        previous = known[i - 1]
        # Across the real line from the one before, as the roots about a corner are.
        across = previous.conj() - 0.2j * jnp.where(previous.imag < 0, -1, 1)
        t = jax.lax.fori_loop(0, 8, lambda _, t: laguerre(t, known, found), jnp.where(i == 0, start, across))
        return known.at[i].set(t), None

    def laguerre(t, known, found):
        value, slope, second = _series(fixed, t, 2)
        value = value - w_fixed
        value = jnp.where(jnp.abs(value) < eps**2, eps**2, value)
        gap = t - known
        others = jnp.where(found, 1 / jnp.where(jnp.abs(gap) < eps, eps, gap), 0)
        degree = ORDER - jnp.sum(found)
        g = slope / value
        h = g**2 - second / value - jnp.sum(others**2)
        g = g - jnp.sum(others)
        branch = jnp.sqrt((degree - 1) * (degree * h - g**2))
        below = g + jnp.where((g * branch.conj()).real < 0, -branch, branch)
        step = degree / jnp.where(jnp.abs(below) < 0.1, 0.1, below)
        t = t - step / jnp.maximum(jnp.abs(step), 1)
        return t / jnp.maximum(jnp.abs(t) / 3, 1)

    # The search carries no derivative; Laguerre's method leaves the real line where there is no real root.
    t, _ = jax.lax.scan(search, jnp.zeros(ROOTS, w.dtype), jnp.arange(ROOTS))
    t = jax.lax.stop_gradient(t)
    found = jnp.abs(jax.vmap(lambda t: _series(fixed, t, 0)[0])(t) - w_fixed) < 100 * eps**0.5
    apart = jnp.all((jnp.abs(t[:, None] - t) > 1e-3) | ~np.tri(ROOTS, k=-1, dtype=bool), axis=1)
    taken = jnp.cumprod(found & apart & (jnp.abs(t - 1) + jnp.abs(t + 1) < REACH)).astype(bool)

    def newton(t, taken):
        value, slope = _series(modes, t, 1)
        regular = taken & (square(slope) > eps)
        step = (w - value) / jnp.where(regular, slope, 1)
        return t + jnp.where(regular & (square(step) < 0.01), step, 0)

    # At the root these steps change nothing but carry the first and second derivatives in curve and target.
    t = jax.lax.fori_loop(0, 2, lambda _, t: jax.vmap(newton)(t, taken), jnp.where(taken, t, 0))
    return t, taken


def _edge_distance(direct: Array, gap: Array, quotient: Array, half: Array) -> Array:
    """±1 - t₀; near the edge from its place in the plane, which the next panel shares, and never zero."""
    eps = jnp.finfo(half.dtype).eps
    shared = (square(direct) < 1e-4) & (square(quotient) > 1e-8)
    distance = jnp.where(shared, gap / jnp.where(shared, quotient, 1), direct)
    floor = eps**1.5 / half
    return jnp.where(square(distance) < floor**2, floor, distance)


def _moments(t: Array, plus: Array, minus: Array, up: Array) -> tuple[Float[Array, " 32"], Complex[Array, " 32"]]:
    """∫ P_k log |s - t|² ds and ∫ P_k / (s - t) ds over [-1, 1].

    `plus` is 1 - t and `minus` is 1 + t; `up` says whether Im t = 0 means +0 or -0.
    """

    def above(z):
        z = jnp.where(up, z, z.conj())
        # On the curve rounding may leave the wrong sign: the value is mended, the derivative is not touched.
        return jax.lax.complex(z.real, z.imag + jax.lax.stop_gradient(jnp.maximum(-z.imag, 0)))

    reach = jax.lax.stop_gradient(jnp.abs(t - 1) + jnp.abs(t + 1))
    forward = reach < FORWARD
    t, minus, minus_plus = above(t), above(minus), above(-plus)
    log_minus = jnp.log(minus)
    log_plus = jnp.log(jax.lax.complex(-minus_plus.real, minus_plus.imag)).conj()
    first = log_plus - log_minus + 1j * np.pi

    stable, outer = jnp.where(forward, t, 0), jnp.where(forward, 2j, t)
    degrees = jnp.arange(START + 1, dtype=plus.real.dtype)

    def ahead(pair, k):
        after = ((2 * k + 1) * stable * pair[1] - k * pair[0]) / (k + 1)
        return (pair[1], after), after

    # Backward the ratios M_k / M_{k-1} forget where they began, by ρ² a step.
    def back(ratio, k):
        ratio = k / ((2 * k + 1) * outer - (k + 1) * ratio)
        return ratio, ratio

    second = stable * first + 2
    _, rest = jax.lax.scan(ahead, (first, second), degrees[1:FINE])
    _, ratios = jax.lax.scan(back, jnp.zeros_like(t), degrees[1:], reverse=True)
    back_row = jnp.cumprod(jnp.concatenate([first[None], ratios[:FINE]]))
    pole = jnp.where(forward, jnp.concatenate([jnp.stack([first, second]), rest]), back_row)
    log0 = 2 * (-minus_plus * log_plus + minus * (log_minus - 1j * np.pi)).real - 4
    log = 2 * (pole[:-2] - pole[2:]).real / jnp.asarray(2 * np.arange(1, FINE) + 1, plus.real.dtype)
    pole = pole[:-1]
    return jnp.concatenate([log0[None], log]), jnp.where(up, pole, pole.conj())


def _divided(modes: Array, t: Array) -> Array:
    """Legendre's coefficients of (ζ(s) - ζ(t)) / (s - t) in s; nothing is subtracted that could cancel."""
    m = jnp.arange(1, ORDER + 1, dtype=t.real.dtype)

    def below(pair, term):
        mode, m = term
        before = (2 - 1 / m) * (mode + t * pair[0] - (m + 1) / (2 * m + 3) * pair[1])
        return (before, pair[0]), before

    zero = jnp.zeros_like(t)
    _, row = jax.lax.scan(below, (zero, zero), (modes[1:], m), reverse=True)
    return jnp.append(row, zero)


def _series(modes: Array, t: Array, order: int) -> Array:
    """ζ(t) and its derivatives up to `order`, for complex t."""
    rows = [modes]
    for _ in range(order):
        rows.append(rows[-1] @ jnp.asarray(_SLOPE, t.real.dtype))
    rows = jnp.stack(rows)

    def above(carry, term):
        before, here, total = carry
        row, k = term
        return (here, ((2 * k + 1) * t * here - k * before) / (k + 1), total + row * here), None

    k = jnp.arange(ORDER + 1, dtype=t.real.dtype)
    (_, _, total), _ = jax.lax.scan(
        above, (jnp.zeros_like(t), jnp.ones_like(t), jnp.zeros_like(rows[:, 0])), (rows.T, k)
    )
    return total


def square(z: Complex[Array, "..."]) -> Float[Array, "..."]:
    """|z|²."""
    return z.real**2 + z.imag**2
