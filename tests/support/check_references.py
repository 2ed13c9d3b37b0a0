"""Checks of the reference solutions themselves.

Run this file with python to see the accuracy of each. Each check asserts, and returns what it measured by name. The
checks take only values of the fields: derivatives come from central differences, far fields and moments from Green's
formula on a circle or sphere, and limits from formulas written a second time.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.special import beta, hankel1, jv, jvp, spherical_jn, spherical_yn

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import capacitance, discs, media, stokes
from support.differences import FIRST, gradient, laplacian

Measured = dict[str, float]


def error(found, expected) -> float:
    """Return the largest error in units of the largest expected value, or of 1 where that is smaller."""
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.max(np.abs(found - expected)) / max(1.0, float(np.max(np.abs(expected)))))


def bounded(limit: float, **measured: float) -> Measured:
    """Assert that no measured error exceeds the limit."""
    for name, value in measured.items():
        assert value <= limit, f"{name}: {value:.1e} > {limit:.0e}"
    return measured


def circle(count: int, radius: float = 1.0, centre=(0.0, 0.0)):
    """Return points, normals and weights on a circle, for the trapezoidal rule."""
    t = 2 * np.pi * (np.arange(count) + 0.5) / count
    normals = np.stack([np.cos(t), np.sin(t)], axis=1)
    return np.asarray(centre) + radius * normals, normals, np.full(count, 2 * np.pi * radius / count)


def sphere(count: int, radius: float = 1.0):
    """Return points, normals and weights on the sphere, for Gauss's rule times the trapezoidal rule."""
    z, w = np.polynomial.legendre.leggauss(count)
    t = np.pi * (np.arange(2 * count) + 0.5) / count
    s = np.sqrt(1 - z**2)[:, None]
    normals = np.stack([s * np.cos(t), s * np.sin(t), z[:, None] + 0 * t], axis=-1).reshape(-1, 3)
    return radius * normals, normals, np.repeat(w * np.pi / count, 2 * count) * radius**2


def along(field, x, normals, step: float = 0.02):
    """Return the normal derivative of the field."""
    moved = ((w, (i + 1) * step * normals) for i, w in enumerate(FIRST))
    return sum(w * (field(x + move) - field(x - move)) for w, move in moved) / step


def jumps(outside, inside, ratio, x, normals, step: float = 0.02) -> tuple[float, float]:
    """Return the errors of the two interface conditions."""
    outer, inner = along(outside, x, normals, step), along(inside, x, normals, step)
    scale = max(1.0, np.max(np.abs(outer)))
    return error(outside(x), inside(x)), float(np.max(np.abs(outer - ratio * inner)) / max(scale, abs(ratio)))


def dipole(field, x, normals, weights, step: float = 0.02):
    """Return p, with u ~ p.x / (omega_d |x|^d), from Green's formula on a closed surface."""
    density = field(x)[:, None] * normals - x * along(field, x, normals, step)[:, None]
    return weights @ density


WAVES = [(1.0, 2.0, 0.5), (5.0, 3.0, 4.0), (3.0, 4.5 + 0.6j, 1.7), (12.0, 20.0, 0.3), (0.05, 0.2, 3.0)]


def _check_waves(body, far_constant, points, radius: float) -> Measured:
    k, dimension = body.k, points[0].shape[1]
    x, normals, weights = points
    step = 0.05 / max(4.0, abs(body.k_inside), k)
    total = lambda y: body.incident(y) + body.scattered(y)
    value, flux = jumps(total, body.inside, body.ratio, radius * x[::5], normals[::5], step)
    away, within = 1.6 * radius * x[::11], 0.6 * radius * x[::11]
    step *= 3
    outer = error(laplacian(body.scattered, away, step), -(k**2) * body.scattered(away))
    inner = error(laplacian(body.inside, within, step), -(body.k_inside**2) * body.inside(within))
    d = normals[::11]
    wave = np.exp(-1j * k * (d @ x.T) * radius)
    slope = -1j * k * (d @ normals.T) * wave
    u, du = body.scattered(radius * x), along(body.scattered, radius * x, normals, step / 3)
    expected = far_constant * ((slope * u - wave * du) @ weights) * radius ** (dimension - 1)
    far = error(body.far_field(d), expected)
    return {"continuity": value, "flux": flux, "equation outside": outer, "equation inside": inner, "far field": far}


def _worst(results: list[Measured]) -> Measured:
    return {name: max(r[name] for r in results) for name in results[0]}


def check_circle_in_two_media() -> Measured:
    """Interface conditions, equations, far field and energy of the circle."""
    results = []
    for k, inside, ratio in WAVES:
        body = media.circle_in_two_media(k, inside, ratio, radius=1.3, angle=0.4)
        constant = np.exp(0.25j * np.pi) / np.sqrt(8 * np.pi * k)
        found = _check_waves(body, constant, circle(150), 1.3)
        x, _, weights = circle(150)
        scattering = weights @ np.abs(body.far_field(x)) ** 2
        forward = body.far_field(np.array([[np.cos(0.4), np.sin(0.4)]]))[0]
        extinction = -np.sqrt(8 * np.pi / k) * (forward * np.exp(0.25j * np.pi)).real
        if np.imag(inside) == 0:
            found["energy"] = error(scattering, extinction)
        else:
            assert extinction > scattering * 1.01
            x, normals, weights = circle(150, 1.3)
            into = (np.conj(body.inside(x)) * along(body.inside, x, normals, 0.01)).imag @ weights
            found["energy"] = error(extinction - scattering, -ratio * into / k)
        results.append(found)
    found = _worst(results)
    equation = {name: found.pop(name) for name in ("equation outside", "equation inside")}
    return bounded(2e-12, **found) | bounded(1e-11, **equation)


def check_sphere_in_two_media() -> Measured:
    """Interface conditions, equations, far field and energy of the sphere."""
    results = []
    direction = np.array([1.0, -2.0, 2.0]) / 3
    for k, inside, ratio in WAVES:
        body = media.sphere_in_two_media(k, inside, ratio, radius=1.3, direction=direction)
        found = _check_waves(body, 1 / (4 * np.pi), sphere(16 + int(1.7 * k)), 1.3)
        x, normals, weights = sphere(16 + int(1.7 * k))
        scattering = weights @ np.abs(body.far_field(x)) ** 2
        extinction = 4 * np.pi / k * body.far_field(direction[None, :])[0].imag
        if np.imag(inside) == 0:
            found["energy"] = error(scattering, extinction)
        else:
            assert extinction > scattering * 1.01
            into = (np.conj(body.inside(1.3 * x)) * along(body.inside, 1.3 * x, normals, 0.01)).imag @ weights
            found["energy"] = error(extinction - scattering, -ratio * into * 1.3**2 / k)
        results.append(found)
    found = _worst(results)
    equation = {name: found.pop(name) for name in ("equation outside", "equation inside")}
    return bounded(2e-12, **found) | bounded(1e-11, **equation)


def check_limits_of_waves() -> Measured:
    """ratio -> 0 is sound hard, ratio -> infinity is sound soft, equal media scatter nothing, a weak body is Born's."""
    k = 3.0
    angles = np.linspace(0, 2 * np.pi, 40)
    x = 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    n = np.arange(-40, 41)[:, None]
    waves = 1j**n * hankel1(n, 1.5 * k) * np.exp(1j * n * angles)
    soft, hard = -(jv(n, k) / hankel1(n, k) * waves).sum(0), -(jvp(n, k) / _dh(n, k) * waves).sum(0)
    space = 1.5 * np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1)
    order = np.arange(40)[:, None]
    h = lambda z, d: spherical_jn(order, z, d) + 1j * spherical_yn(order, z, d)
    legendre = np.stack([np.polynomial.legendre.Legendre.basis(m)(np.cos(angles)) for m in range(40)])
    waves = (2 * order + 1) * 1j**order * h(1.5 * k, False) * legendre
    soft_space = -(spherical_jn(order, k) / h(k, False) * waves).sum(0)
    hard_space = -(spherical_jn(order, k, True) / h(k, True) * waves).sum(0)
    measured = {
        "hard circle": error(media.circle_in_two_media(k, 2.0, 1e-15).scattered(x), hard),
        "soft circle": error(media.circle_in_two_media(k, 2.0, 1e15).scattered(x), soft),
        "hard sphere": error(media.sphere_in_two_media(k, 2.0, 1e-15).scattered(space), hard_space),
        "soft sphere": error(media.sphere_in_two_media(k, 2.0, 1e15).scattered(space), soft_space),
        "no circle": error(media.circle_in_two_media(k, k, 1.0).scattered(x), 0),
        "no sphere": error(media.sphere_in_two_media(k, k, 1.0).scattered(space), 0),
        "wave in no circle": error(media.circle_in_two_media(k, k, 1.0).inside(x / 2), np.exp(1.5j * x[:, 0])),
        "wave in no sphere": error(media.sphere_in_two_media(k, k, 1.0).inside(space / 2), np.exp(1.5j * space[:, 2])),
    }
    # Born: u_inf = (k_i^2 - k^2) / (4 pi) * volume for small bodies and small contrast.
    small = media.sphere_in_two_media(1e-2, 1e-2 * np.sqrt(1 + 1e-3), 1.0).far_field(space / 1.5)
    assert error(small / (1e-7 / 3), np.ones(40)) < 1e-3
    # A small body in a long wave with another ratio: a dipole with the polarisability of the uniform field.
    low = media.sphere_in_two_media(1e-3, 1e-3, 3.0).far_field(np.array([[0, 0, 1.0], [0, 0, -1.0]]))
    p = media.ellipsoid_polarisability((1, 1, 1), 3.0)[2, 2]
    assert abs((low[0] - low[1]) / 2 / (1e-6 * p / (4 * np.pi)) - 1) < 1e-5
    return bounded(1e-12, **measured)


def _dh(n, z):
    return (hankel1(n - 1, z) - hankel1(n + 1, z)) / 2


def check_large_circle() -> Measured:
    """Many waves: k a = 150 with k_i a = 220 (also with loss), and a small or no wave number inside."""
    found = {}
    for name, k, inside in [
        ("lossless", 150.0, 220.0),
        ("lossy", 150.0, 220.0 + 30j),
        ("slow", 2.0, 1e-3),
        ("static", 30.0, 0.0),
    ]:
        body = media.circle_in_two_media(k, inside, 1.5)
        x, normals, _ = circle(60)
        total = lambda y, body=body: body.incident(y) + body.scattered(y)
        step = 0.05 / max(k, abs(inside), 4.0)
        found[name], slope = jumps(total, body.inside, 1.5, x, normals, step)
        found[f"{name}, flux"] = slope
    return bounded(1e-11, **found)


def check_uniform_fields_in_the_plane() -> Measured:
    """Interface conditions, equation and polarisability of the ellipse and circle."""
    found: Measured = {}
    for a, b, ratio in [(1.0, 1.0, 3.0), (2.0, 0.5, 7.0), (0.6, 1.5, 0.02), (1.2, 1.0, 2.0 + 0.5j), (1.0, 0.7, 1e3)]:
        body = media.ellipse_in_uniform_field(a, b, ratio, (0.8, -0.6))
        t = 2 * np.pi * (np.arange(100) + 0.5) / 100
        x = np.stack([a * np.cos(t), b * np.sin(t)], axis=1)
        normals = np.stack([b * np.cos(t), a * np.sin(t)], axis=1)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        total = lambda y, body=body: body.incident(y) + body.scattered(y)
        value, flux = jumps(total, body.inside, ratio, x, normals, 0.002)
        around = circle(200, 3.0)
        p = dipole(body.scattered, *around, 0.05)
        one = {
            "continuity": value,
            "flux": flux,
            "equation": error(laplacian(body.scattered, 1.8 * x, 0.02), 0),
            "polarisability": error(p, media.ellipse_polarisability(a, b, ratio) @ [0.8, -0.6]),
        }
        found = one if not found else _worst([found, one])
    disc = media.circle_in_uniform_field((1.0, 0.0), 3.0, 2.0)
    found["circle formula"] = error(disc.scattered(np.array([[3.0, 1.0]])), -0.5 * 4 * 3 / 10)
    found["conductor"] = error(np.diag(media.ellipse_polarisability(1, 1, np.inf)), -2 * np.pi)
    found["hole"] = error(np.diag(media.ellipse_polarisability(1, 1, 0.0)), 2 * np.pi)
    return bounded(1e-11, **found)


def check_uniform_fields_in_space() -> Measured:
    """Interface conditions, equation and polarisability of the ellipsoid and sphere."""
    found: Measured = {}
    for axes, ratio in [
        ((1.0, 1.0, 1.0), 3.0),
        ((2.0, 1.0, 0.6), 7.0),
        ((0.7, 0.7, 1.4), 0.02),
        ((1.0, 1.3, 0.9), 1e3),
    ]:
        e = np.array([0.5, -0.7, 0.4])
        body = media.ellipsoid_in_uniform_field(axes, ratio, e)
        y, _, _ = sphere(8)
        x, normals = y * axes, y / axes
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        total = lambda y, body=body: body.incident(y) + body.scattered(y)
        value, flux = jumps(total, body.inside, ratio, x, normals, 0.004)
        p = dipole(body.scattered, *sphere(30, 5.0), 0.05)
        one = {
            "continuity": value,
            "flux": flux,
            "equation": error(laplacian(body.scattered, 1.8 * x, 0.02), 0),
            "polarisability": error(p, media.ellipsoid_polarisability(axes, ratio) @ e),
            "sum of factors": error(media.depolarisation_factors(axes).sum(), 1.0),
        }
        found = one if not found else _worst([found, one])
    ball = 4 * np.pi / 3
    found["sphere"] = error(np.diag(media.ellipsoid_polarisability((1, 1, 1), 3.0)), -4 * np.pi * 2 / 5)
    found["conductor"] = error(np.diag(media.ellipsoid_polarisability((1, 1, 1), np.inf)), -3 * ball)
    found["hole"] = error(np.diag(media.ellipsoid_polarisability((1, 1, 1), 0.0)), 1.5 * ball)
    long = np.sqrt(1 - 0.25)
    factor = 0.25 / long**3 * (np.arctanh(long) - long)
    found["prolate factor"] = error(media.depolarisation_factors((1, 1, 2))[2], factor)
    return bounded(2e-11, **found)


def check_polygons_and_cube() -> Measured:
    """The polygon by its conformal map, the disc as its limit, and bounds for the cube."""
    found = {}
    for n in (3, 4, 5, 6, 12):
        # The map c * integral of (1 - z^-n)^(2/n) dz has the sides c 2^(2/n) integral of |sin(n t/2)|^(2/n) dt, and
        # alpha = 2 pi c^2. The integral over one side is 2/n * B(1/2 + 1/n, 1/2).
        side = 2 ** (2 / n) * 2 / n * beta(0.5 + 1 / n, 0.5)
        area = n * side**2 / (4 * np.tan(np.pi / n))
        found[f"polygon {n}"] = error(media.conductor_polygon_polarisability(n, area), 2 * np.pi)
    many = media.conductor_polygon_polarisability(100000, np.pi)
    conductor = media.ellipse_polarisability(1, 1, np.inf)[0, 0]
    assert abs(many + conductor) < 1e-9, "the polygon is -1 times P"
    found["many sides"] = abs(many + conductor)
    ball = -media.ellipsoid_polarisability((1, 1, 1), np.inf)[0, 0] / (4 * np.pi / 3)
    assert ball < media.CUBE_CONDUCTOR_POLARISABILITY < ball * np.pi / 6 * 3**1.5
    return found | bounded(1e-13, **{name: value for name, value in found.items() if name != "many sides"})


CLOSE = ([1.0, 0.7], [[0.0, 0.0], [1.7, 0.9]])


def _images(radii, centres, kappa, e, count: int = 400) -> complex:
    """Return the dipole of two discs from images: p at s has the image -kappa conj(p) (R / conj(s - c))^2."""
    c = discs.complex_points(np.asarray(centres))
    total = 0j
    for first in (0, 1):
        disc, place = first, c[first]
        strength = kappa * e * radii[first] ** 2
        for _ in range(count):
            total += strength
            disc = 1 - disc
            gap = np.conj(place - c[disc])
            strength = -kappa * np.conj(strength) * radii[disc] ** 2 / gap**2
            place = c[disc] + radii[disc] ** 2 / gap
    return 2 * np.pi * total


def check_discs_in_uniform_field() -> Measured:
    """Interface conditions for many ratios, the images, and the polarisability from Green's formula."""
    found: Measured = {}
    direction = (0.6, 0.8)
    cases = [([1.0, 1.0], [[0.0, 0.0], [2.2, 0.0]], r) for r in (1e-3, 0.2, 5.0, 1e3)]
    cases += [(*CLOSE, 1e3), ([0.5, 1.4], [[-1.0, 0.3], [1.0, 1.4]], (0.1, 30.0))]
    cases += [([1.0, 0.5, 0.6], [[0.0, 0.0], [1.8, 0.2], [0.9, 1.6]], 8.0)]
    for radii, centres, ratio in cases:
        body = discs.discs_in_uniform_field(radii, centres, ratio, direction)
        total = lambda y, body=body: body.incident(y) + body.scattered(y)
        one = {"continuity": 0.0, "flux": 0.0, "polarisability": 0.0, "images": 0.0, "symmetry": 0.0}
        for j, radius in enumerate(radii):
            x, normals, _ = circle(90, radius, centres[j])
            inside = lambda y, j=j, body=body: body.inside(y, j)
            value, flux = jumps(total, inside, body.ratios[j], x, normals, 0.004)
            one["continuity"], one["flux"] = max(one["continuity"], value), max(one["flux"], flux)
        p = discs.polarisability(radii, centres, ratio)
        one["symmetry"] = error(p, p.T)
        middle = np.mean(centres, axis=0)
        around = circle(300, 4.5, middle)
        one["polarisability"] = error(dipole(body.scattered, *around, 0.05), p @ direction)
        if len(radii) == 2 and np.ndim(ratio) == 0:
            image = _images(radii, centres, (1 - ratio) / (1 + ratio), 0.6 + 0.8j)
            one["images"] = error(p @ direction, [image.real, image.imag])
        found = one if not found else _worst([found, one])
    alone = discs.polarisability([1.0], [[0.0, 0.0]], 3.0)
    found["one disc"] = error(alone, media.ellipse_polarisability(1, 1, 3.0))
    x = np.array([[1.0, 1.5], [3.0, -2.0], [-2.0, 0.5]])
    found["equation"] = error(laplacian(discs.two_discs_in_uniform_field(*CLOSE, 5.0, direction).scattered, x, 0.02), 0)
    return bounded(2e-11, **found)


def check_capacitance_of_spheres() -> Measured:
    """The images and the series of Kirchhoff, and the ball."""
    found = {}
    for a, b, d in [(1.0, 1.0, 2.2), (1.0, 0.3, 1.5), (0.5, 2.0, 2.51), (1.0, 1.0, 50.0)]:
        mu = np.arccosh((d**2 - a**2 - b**2) / (2 * a * b))
        n = np.arange(1, int(60 / mu) + 2)
        n = n[n * mu < 600]
        diagonal = lambda a, b, n=n, mu=mu: (
            a + a * b * np.sinh(mu) * np.sum(1 / (a * np.sinh(n * mu) + b * np.sinh((n + 1) * mu)))
        )
        between = -a * b / d * np.sinh(mu) * np.sum(1 / np.sinh(n * mu))
        expected = 4 * np.pi * np.array([[diagonal(a, b), between], [between, diagonal(b, a)]])
        c = capacitance.two_spheres((a, b), d)
        found[f"{a} {b} {d}"] = error(c, expected)
        found[f"{a} {b} {d} symmetry"] = error(c, c.T)
    far = 4 * np.pi * np.array([[1.0, -2e-9], [-2e-9, 2.0]])
    found["far apart"] = error(capacitance.two_spheres((1.0, 2.0), 1e9), far)
    # Equal potentials on almost touching equal spheres: each has 4 pi log 2.
    near = capacitance.two_spheres((1.0, 1.0), 2.0 + 1e-6)[0].sum() / (4 * np.pi * np.log(2))
    assert abs(near - 1) < 1e-5
    return bounded(2e-13, **found)


def check_capacitance_of_discs() -> Measured:
    """The two-disc formula, constant potentials on three discs, and the charges from the flux."""
    found = {}
    for a, b, d in [(1.0, 1.0, 2.2), (1.0, 0.3, 1.5), (0.5, 2.0, 2.52), (1.0, 1.0, 50.0)]:
        expected = 2 * np.pi / np.arccosh((d**2 - a**2 - b**2) / (2 * a * b)) * np.array([[1, -1], [-1, 1]])
        c = capacitance.discs((a, b), [[0.3, 0.1], [0.3 + 0.6 * d, 0.1 + 0.8 * d]])
        found[f"{a} {b} {d}"] = error(c, expected)
    radii, centres, potentials = (1.0, 0.5, 0.6), [[0.0, 0.0], [1.8, 0.2], [0.9, 1.6]], (1.0, -2.0, 0.5)
    c = capacitance.discs(radii, centres)
    u = capacitance.discs_potential(radii, centres, potentials)
    found["symmetry"], found["row sums"] = error(c, c.T), error(c.sum(1), 0)
    found["charges"] = error(u.charges, c @ potentials)
    found["value"] = max(
        error(u.potential(circle(90, r, m)[0]), v) for r, m, v in zip(radii, centres, potentials, strict=True)
    )
    flux = [
        -(w @ along(u.potential, x, n, 0.005))
        for x, n, w in (circle(200, r, m) for r, m in zip(radii, centres, strict=True))
    ]
    found["flux"] = error(flux, u.charges)
    found["at infinity"] = max(0.0, error(u.potential(np.array([[1e9, -1e9]])), u.at_infinity) - 1e-8)
    return bounded(2e-11, **found)


def _check_singularities(d: int, surface) -> Measured:
    source = np.array([0.1, -0.2, 0.15])[:d]
    force = np.array([0.7, -1.1, 0.4])[:d]
    moment = np.diag([1.0, -0.4, -0.6])[:d, :d] + 0.3 * (np.ones((d, d)) - np.eye(d))
    moment -= np.trace(moment) / d * np.eye(d)
    torque = 0.8 if d == 2 else np.array([0.3, -0.5, 0.9])
    x, normals, weights = surface
    r = x - source
    flows = {
        "point force": (
            lambda y: stokes.stokeslet(y, source, force),
            lambda y: stokes.stokeslet_pressure(y, source, force),
        ),
        "point torque": (lambda y: stokes.rotlet(y, source, torque), lambda y: np.zeros(len(y))),
        "pair": (
            lambda y: stokes.stresslet(y, source, moment),
            lambda y: stokes.stresslet_pressure(y, source, moment),
        ),
    }
    found = {}
    for name, (u, p) in flows.items():
        slope = gradient(u, x, 0.015)
        found[f"{name}, momentum"] = error(laplacian(u, x, 0.03), gradient(p, x, 0.015))
        found[f"{name}, divergence"] = error(np.trace(slope, axis1=1, axis2=2), 0)
        traction = -p(x)[:, None] * normals + np.einsum("mij,mj->mi", slope + slope.transpose(0, 2, 1), normals)
        turn = np.cross(r, traction) if d == 3 else r[:, 0] * traction[:, 1] - r[:, 1] * traction[:, 0]
        found[f"{name}, force"] = error(weights @ traction, -force if name == "point force" else 0)
        found[f"{name}, torque"] = error(weights @ turn, -np.asarray(torque) if name == "point torque" else 0)
        if name == "point force":
            found["traction"] = error(stokes.stokeslet_traction(x, normals, source, force), traction)
    # A pair of forces and a torque are derivatives of point forces by their place.
    kernel = lambda y: np.stack([stokes.stokeslet(x, y[0], f) for f in np.eye(d)], axis=-1)[None]
    slopes = gradient(kernel, source[None])[0]
    twist = np.array([[0, -0.4], [0.4, 0]]) if d == 2 else np.cross(np.eye(3), torque) / 2
    found["pair by forces"] = error(stokes.stresslet(x, source, moment), np.einsum("mijk,jk->mi", slopes, moment))
    found["torque by forces"] = error(stokes.rotlet(x, source, torque), np.einsum("mijk,jk->mi", slopes, twist))
    return found


def check_stokes_singularities() -> Measured:
    """Equations, traction, force and torque of the point force, point torque and pair of forces."""
    found = _worst([_check_singularities(2, circle(60, 1.5)), _check_singularities(3, sphere(20, 1.5))])
    return bounded(1e-11, **found)


def check_stokes_resistance() -> Measured:
    """The sphere, spheroids, the disc, and the integrals by quadrature."""
    found = {}
    drag, torque = stokes.ellipsoid_resistance((1.7, 1.7, 1.7))
    found["sphere"] = max(
        error(drag, stokes.sphere_resistance(1.7)[0]), error(torque, stokes.sphere_resistance(1.7)[1])
    )
    for e in (0.3, 0.8, 0.99):
        b = np.sqrt(1 - e**2)
        log = np.log((1 + e) / (1 - e))
        drag, torque = stokes.ellipsoid_resistance((1.0, b, b))
        along_axis = 6 * np.pi * 8 / 3 * e**3 / (-2 * e + (1 + e**2) * log)
        across = 6 * np.pi * 16 / 3 * e**3 / (2 * e + (3 * e**2 - 1) * log)
        spin = 8 * np.pi * 4 / 3 * e**3 * (1 - e**2) / (2 * e - (1 - e**2) * log)
        tumble = 8 * np.pi * 4 / 3 * e**3 * (2 - e**2) / (-2 * e + (1 + e**2) * log)
        found[f"spheroid {e}"] = max(error(drag, [along_axis, across, across]), error(torque, [spin, tumble, tumble]))
    drag, torque = stokes.ellipsoid_resistance((1.0, 1.0, 0.0))
    found["disc"] = max(error(drag, [32 / 3, 32 / 3, 16]), error(torque, [32 / 3] * 3))
    thin = stokes.ellipsoid_resistance((1.0, 1.0, 1e-7))
    assert error(thin[0], drag) < 1e-6 and error(thin[1], torque) < 1e-6
    axes = np.array([2.0, 1.1, 0.5])
    # With s = t^2 / (1 - t)^2 the integrals are smooth.
    root = lambda s: np.sqrt(np.prod(axes**2 + s))
    integral = lambda f: quad(lambda t: f((t / (1 - t)) ** 2) * 2 * t / (1 - t) ** 3, 0, 1, epsabs=1e-14, epsrel=1e-13)[
        0
    ]
    chi = integral(lambda s: 1 / root(s))
    weighted = np.array([a**2 * integral(lambda s, a=a: 1 / (a**2 + s) / root(s)) for a in axes])
    drag, torque = stokes.ellipsoid_resistance(axes)
    found["drag by quadrature"] = error(drag, 16 * np.pi / (chi + weighted))
    squares = axes**2
    expected = [16 * np.pi / 3 * (squares.sum() - squares[i]) / (weighted.sum() - weighted[i]) for i in range(3)]
    found["torque by quadrature"] = error(torque, expected)
    surface, _, _ = sphere(8, 1.7)
    v = np.array([0.2, -0.5, 1.0])
    found["flow on the sphere"] = error(stokes.sphere_flow(surface, 1.7, v), np.broadcast_to(v, surface.shape))
    far, distance = np.array([[0.0, 0.0, 1e8]]), 1e8
    force = stokes.sphere_flow(far, 1.7, v)[0, 2] * 4 * np.pi * distance / v[2]
    found["drag from the far flow"] = error(force, stokes.sphere_resistance(1.7)[0])
    return bounded(1e-11, **found)


CHECKS = [value for name, value in list(globals().items()) if name.startswith("check_")]

if __name__ == "__main__":
    for check in CHECKS:
        measured = check()
        print(check.__name__)
        for name, value in measured.items():
            print(f"    {name:32s} {value:.1e}")
