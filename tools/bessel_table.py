"""Prints the table of `edgewise/special/bessel.py`, and how far it is from K0 and K1. Needs mpmath; takes a minute.

F_m(z) = K_m(z) e^z sqrt(2z/π), m = 0, 1, is fitted by N_m(4/z) / D(4/z), polynomials of degree 12 with N_m(0) = D(0) = 1,
where |z| + Re z >= 4, and >= 6 in the left half plane. The error is analytic there, so its maximum lies on the boundary:
least squares on points of it, reweighted by the last error (Lawson), in 60 digits.
"""

import mpmath as mp

DEGREE, RIGHT, LEFT, POINTS, ROUNDS = 12, 4, 6, 40, 16


def scaled(order, z):
    return mp.besselk(order, z) * mp.exp(z) * mp.sqrt(2 * z / mp.pi)


def boundary(points):
    """The upper half: parabola to the imaginary axis, up that axis, and the wider parabola out to infinity."""
    fractions = [mp.mpf(k) / points for k in range(points + 1)]
    arc = [mp.mpf(RIGHT) / 2 * (1 + 1j * mp.tan(mp.pi / 4 * mp.sin(mp.pi / 2 * x))) ** 2 for x in fractions]
    axis = [1j * (RIGHT + (LEFT - RIGHT) * mp.mpf(k) / 6) for k in range(1, 6)]
    return arc + axis + [mp.mpf(LEFT) / 2 * (1 + 1j / mp.sin(mp.pi / 2 * x) ** 2) ** 2 for x in fractions[1:]]


def fit(points):
    """Coefficients of N_0, N_1, D from the constant term up."""
    places = boundary(points)
    powers = [[(RIGHT / z) ** k for k in range(DEGREE + 1)] for z in places]
    values = [[scaled(m, z) for z in places] for m in (0, 1)]
    weights = [[mp.mpf(1)] * len(places) for _ in (0, 1)]
    below = [mp.mpf(1)] * len(places)
    size, best = 3 * DEGREE, None
    for _ in range(ROUNDS):
        matrix, right = mp.matrix(size, size), mp.matrix(size, 1)
        for m in (0, 1):
            columns = [*range(m * DEGREE, (m + 1) * DEGREE), *range(2 * DEGREE, size)]
            for power, value, weight, d in zip(powers, values[m], weights[m], below, strict=True):
                row = power[1:] + [-value * p for p in power[1:]]
                for a, x in zip(columns, row, strict=True):
                    x = weight / abs(d) ** 2 * mp.conj(x)
                    right[a] += mp.re(x * (value - 1))
                    for b, y in zip(columns, row, strict=True):
                        matrix[a, b] += mp.re(x * y)
        solved = list(mp.lu_solve(matrix, right))
        table = [[mp.mpf(1), *solved[k * DEGREE : (k + 1) * DEGREE]] for k in range(3)]
        below = [mp.fdot(table[2], power) for power in powers]
        errors = [
            [
                abs(mp.fdot(table[m], power) / d - value)
                for power, d, value in zip(powers, below, values[m], strict=True)
            ]
            for m in (0, 1)
        ]
        worst = max(map(max, errors))
        best = min(best or (worst, table), (worst, table), key=lambda pair: pair[0])
        # A floor under the weights: a point of zero error must be able to come back.
        weights = [
            [w * (e + worst / 100) for w, e in zip(*pair, strict=True)] for pair in zip(weights, errors, strict=True)
        ]
        top = max(map(max, weights))
        weights = [[w / top for w in row] for row in weights]
    return best


def main():
    mp.mp.dps = 60
    _, table = fit(POINTS)
    rounded = [[float(c) for c in row] for row in table]
    between = boundary(3 * POINTS + 1)
    for m in (0, 1):
        error = max(
            abs(mp.polyval(rounded[m][::-1], RIGHT / z) / mp.polyval(rounded[2][::-1], RIGHT / z) - scaled(m, z))
            for z in between
        )
        print(f"# K{m}: relative error at most {mp.nstr(error, 3)} with rounded coefficients")
    for name, row in zip(("_N0", "_N1", "_D"), rounded, strict=True):
        print(f"{name} = [{', '.join(map(repr, row))}]")


if __name__ == "__main__":
    main()
