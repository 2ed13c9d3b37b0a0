"""The rule for targets anywhere near curves cut into panels, against residues on an ellipse and logarithms on a square."""

import cmath

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from edgewise.quadrature.curves.panels import ORDER, Panels, panel_grid, panel_weights

A, B = 1.3, 0.7
DIRECTIONS = [-170, -135, -90, -45, -20, -3, 3, 20, 45, 70, 93, 110, 135, 180]
CORNERS = np.array([[0.3, -0.2], [1.3, -0.2], [1.3, 0.8], [0.3, 0.8]])


def ellipse(count: int, dtype=float) -> tuple[Panels, np.ndarray]:
    sigma, _ = panel_grid(np.linspace(0, 2 * np.pi, count + 1))
    x = np.stack([A * np.cos(sigma), B * np.sin(sigma)], -1).reshape(count, ORDER, 2)
    velocity = np.stack([-A * np.sin(sigma), B * np.cos(sigma)], -1).reshape(count, ORDER, 2)
    anchor = x[:, 0].astype(dtype).astype(float)
    parts = (anchor, x - anchor[:, None], velocity, np.full(count, np.pi / count))
    return Panels(*(jnp.asarray(part, dtype) for part in parts)), sigma


def ellipse_integrals(target: np.ndarray, left: bool) -> tuple[float, complex]:
    """∫ cos 3σ log |d|² dσ plus ∫ log |d|² dσ, and ∫ (1 + v³) / d dσ, v = e^{iσ}: ζ - w = α (v - v₁) (v - v₂) / v."""
    w, alpha, beta = complex(*target), (A + B) / 2, (A - B) / 2
    root = cmath.sqrt(w * w - 4 * alpha * beta)
    roots = [(w + root) / (2 * alpha), (w - root) / (2 * alpha)]
    inside = [abs(v) < 1 if abs(abs(v) - 1) > 1e-14 else left for v in roots]
    log, pole = 4 * np.pi * np.log(alpha), 0j
    for v, other, within in zip(roots, roots[::-1], inside, strict=True):
        log += -2 * np.pi / 3 * (v**3 if within else v**-3).real + (0 if within else 4 * np.pi * np.log(abs(v)))
        pole -= 2 * np.pi / alpha * (1 + v**3) / (v - other) if within else 0
    return float(log), complex(pole)


def sigmoid(u: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Kress's grading of [0, 1] and its derivative."""
    q = 1 / p - 1 / 2
    v = q * (-6 * u + 12 * u**2 - 8 * u**3) + 2 * u / p
    slope = q * (-6 + 24 * u - 24 * u**2) + 2 / p
    total = v**p + (1 - v) ** p
    return v**p / total, p * slope * (v * (1 - v)) ** (p - 1) / total**2


def square(p: int, count: int = 16, halved: int = 0, dtype=float) -> tuple[Panels, np.ndarray, np.ndarray]:
    """A square, `count` panels a side, the first and last `halved` so often; its jacobian, and r^(-1/3) times that on its
    first side, r being the distance from the first corner."""
    edges = np.linspace(0, 0.5, count // 2 + 1)
    edges = np.concatenate([[0], edges[1] * 0.5 ** np.arange(halved, 0, -1), edges[1:]])
    u, _ = panel_grid(edges)
    r, slope = (part.reshape(-1, ORDER) for part in sigmoid(u, p))
    half, slope = np.diff(edges) * np.pi / 4, slope * 2 / np.pi
    anchor, offset, velocity, halves = [], [], [], []
    for start, end in zip(CORNERS, np.roll(CORNERS, -1, axis=0), strict=True):
        side = end - start
        anchor += [start] * len(half) + [end] * len(half)
        offset += [*(r[..., None] * side), *(-r[::-1, ::-1, None] * side)]
        velocity += [*(slope[..., None] * side), *(slope[::-1, ::-1, None] * side)]
        halves += [*half, *half[::-1]]
    parts = [np.array(part) for part in (anchor, offset, velocity, halves)]
    jacobian = np.linalg.norm(parts[2], axis=-1).ravel()
    distance = np.concatenate([r.ravel(), (1 - r[::-1, ::-1]).ravel()])
    first_side = np.pad(distance ** (-1 / 3), (0, 3 * len(distance))) * jacobian
    return Panels(*(jnp.asarray(part, dtype) for part in parts)), jacobian, first_side


def square_log(target: np.ndarray) -> float:
    """∫ log |d|² ds over the square."""
    total, w = 0.0, complex(*target)
    for start, end in zip(CORNERS, np.roll(CORNERS, -1, axis=0), strict=True):
        a, b = complex(*start) - w, complex(*end) - w
        direction = (b - a) / abs(b - a)
        power = lambda z: z * cmath.log(z) if z != 0 else 0.0
        # Turned to the real axis, where the logarithm's branch is the same along the side.
        total += 2 * (power(b / direction) - power(a / direction) - (b - a) / direction).real
    return float(total)


def singular_log(target: np.ndarray) -> float:
    """∫ r^(-1/3) log |d|² ds over the first side: 3 ∫ u log |u³ - w|² du with r = u³."""
    w = complex(*target) - complex(*CORNERS[0])
    total = 0.0
    for k in range(3):
        c = w ** (1 / 3) * cmath.exp(2j * np.pi * k / 3)
        power = lambda u, c=c: ((u * u - c * c) * cmath.log(u - c) if u != c else 0) / 2 - u * u / 4 - c * u / 2
        total += 6 * (power(1.0) - power(0.0)).real
    return float(total)


@jax.jit
def vectorized(panels: Panels, targets, left):
    return jax.vmap(lambda target: panel_weights(panels, target, left))(targets)


def weights(panels: Panels, targets: np.ndarray, left: bool = True):
    """At a number of targets that all tests share, as they do the number of panels: one compilation serves all."""
    padded = np.concatenate([targets, np.zeros((192 - len(targets), 2), targets.dtype)])
    return jax.tree_util.tree_map(lambda part: part[: len(targets)], vectorized(panels, jnp.asarray(padded), left))


def around(corner: np.ndarray, radius: float, degrees: list[float]) -> np.ndarray:
    angle = np.deg2rad(degrees)
    return corner + radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


@pytest.mark.parametrize("left", [True, False])
def test_ellipse(left, measured):
    panels, sigma = ellipse(64)
    feet = np.array([0.1, np.pi / 32, np.pi / 32 + 1e-9, np.pi / 2, 0.0, 2.0])
    foot = np.stack([A * np.cos(feet), B * np.sin(feet)], -1)
    normal = np.stack([B * np.cos(feet), A * np.sin(feet)], -1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    heights = np.array([sign * 10.0**-k for k in range(13) for sign in (-1, 1)] + [0.0])
    targets = (foot + heights[:, None, None] * normal).reshape(-1, 2)
    (log, pole), winding, on_boundary = weights(panels, targets, left)
    exact_log, exact_pole = (
        np.array(part) for part in zip(*(ellipse_integrals(target, left) for target in targets), strict=True)
    )
    log_error = np.abs(log @ (1 + np.cos(3 * sigma)) - exact_log) / np.abs(exact_log).max()
    pole_error = np.abs(pole @ (1 + np.exp(3j * sigma)) - exact_pole) / np.abs(exact_pole).max()
    measured("panels, ellipse: log |d|²", log_error.max(), 1e-13)
    measured("panels, ellipse: 1/d", pole_error.max(), 1e-12)
    height = np.repeat(heights, len(feet))
    near = np.abs(height) < 0.6
    inside = np.where(height == 0, left, height < 0)
    measured("panels, ellipse: winding number", np.abs(winding - inside)[near].max(), 1e-12)
    assert np.array_equal(on_boundary, height == 0)


@pytest.mark.parametrize("p", [8, 16])
def test_square(p, measured):
    panels, jacobian, first_side = square(p)
    targets = [around(CORNERS[0], r, DIRECTIONS) for r in (1e-3, 1e-6, 1e-12)]
    targets += [
        CORNERS,
        CORNERS[1] + np.array([[-0.3, h] for h in (-1e-3, 1e-6, -1e-12, 0.0)]),
        [[0.7, 0.4], [9.0, 0.4]],
    ]
    targets = np.concatenate(targets)
    (log, pole), _, _ = weights(panels, targets)
    assert np.isfinite(log).all() and np.isfinite(pole).all()
    exact = np.array([square_log(target) for target in targets])
    measured(f"panels, square of grading {p}: log |d|²", np.abs(log @ jacobian - exact).max(), 1e-13)
    exact = np.array([singular_log(target) for target in targets])
    measured(f"panels, square of grading {p}: r^(-1/3) log |d|²", np.abs(log @ first_side - exact).max(), 1e-12)


@pytest.mark.parametrize("p, count, halved", [(8, 8, 4), (16, 16, 0)])
def test_double_layer_of_one(p, count, halved, measured):
    panels, _, _ = square(p, count, halved)
    radii = (1e-1, 1e-3, 1e-6, 1e-9, 1e-12)
    targets = np.concatenate([around(CORNERS[2], r, [angle + 180 for angle in DIRECTIONS]) for r in radii])
    targets = np.concatenate([targets, [[0.7, -0.2], [1.3, 0.1]]])
    _, winding, on_boundary = weights(panels, targets, False)
    inside = np.all((targets > CORNERS[0]) & (targets < CORNERS[2]), axis=1)
    measured(f"panels, square of grading {p}: winding number", np.abs(winding - inside).max(), 1e-11)
    assert np.array_equal(on_boundary, np.arange(len(targets)) >= len(targets) - 2)


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
@pytest.mark.slow
def test_derivatives(dtype, measured):
    panels, jacobian, _ = square(8, dtype=dtype)
    nodes = np.asarray(panels.anchor, float)[:, None] + np.asarray(panels.offset)
    targets = [[[0.81, CORNERS[0, 1] + 1e-3]], [[0.7, 0.4], [1e3, 0.0]], CORNERS[:2], nodes[6, :2], nodes[0, :2]]
    targets = jnp.asarray(np.concatenate(targets), dtype)

    def total(variables):
        target, factor, also = variables[:2], variables[2], variables[3]
        larger = Panels(factor * panels.anchor, factor * panels.offset, factor * panels.velocity, panels.half)
        (log, pole), winding, _ = panel_weights(larger, factor * target, True)
        return log @ jnp.asarray(jacobian, dtype) + also * (
            jnp.sum(pole.real * panels.velocity[..., 0].ravel()) + winding
        )

    variables = jnp.concatenate([targets, jnp.tile(jnp.array([[1.0, 0.0]], dtype), (len(targets), 1))], axis=1)
    if dtype == jnp.float32:
        slope = jax.jit(jax.vmap(jax.grad(total)))(variables)
        assert slope.dtype == dtype and np.isfinite(slope).all()
        return
    hessian, slope = jax.jit(jax.vmap(jax.jacfwd(lambda v: (jax.grad(total)(v),) * 2, has_aux=True)))(variables)
    assert np.isfinite(slope).all() and np.isfinite(hessian).all()
    # At the first target: the gradient of ∫ log |d|² ds is twice the conjugate of g = ∫ ds / d, the rest comes from dg/dw.
    a = (CORNERS - np.asarray(targets[0])) @ [1, 1j]
    b, tangent = np.roll(a, -1), np.array([1, 1j, -1, -1j])
    g, dg = np.sum(np.log(a / b) / tangent), np.sum((1 / b - 1 / a) / tangent)
    measured("panels: gradient", np.abs(slope[0, :2] - 2 * np.array([g.real, -g.imag])).max(), 1e-12)
    exact = 2 * np.array([[dg.real, -dg.imag], [-dg.imag, -dg.real]])
    measured("panels: hessian", np.abs(hessian[0, :2, :2] - exact).max(), 1e-10)
    # log |λd|² = log λ² + log |d|², whatever the curve.
    measured("panels: derivative in the curve", abs(slope[0, 2] - 8), 1e-12)
    measured("panels: second derivative in the curve", abs(hessian[0, 2, 2] + 8), 1e-10)


def test_single_precision(measured):
    panels, jacobian, _ = square(8, dtype=jnp.float32)
    targets = np.concatenate([around(CORNERS[0], r, DIRECTIONS) for r in (1e-1, 1e-3)] + [CORNERS]).astype(np.float32)
    (log, pole), winding, _ = weights(panels, targets)
    assert log.dtype == winding.dtype == jnp.float32 and pole.dtype == jnp.complex64
    exact = np.array([square_log(target) for target in targets.astype(float)])
    measured("panels, single precision: log |d|²", np.abs(log @ jacobian - exact).max(), 1e-5)
