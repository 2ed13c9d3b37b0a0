"""A wave runs round a kite: one period, Re u e^{-iωt}, and how still it is on the body.

`python examples/wave_in_time.py wave.gif` makes the film.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

problem = ew.Problem(
    family=ew.Kite(),
    parameters=None,
    representation=ew.CombinedField(ew.Helmholtz(dim=2, wavenumber=6.0)),
    data=ew.PlaneWave(0.0),
    side="exterior",
)
solution = ew.solve(problem, quadrature=ew.Kress(320))

# Incident and scattered wave cancel on the body at every time: the complex amplitude of their sum is zero.
still = jnp.max(jnp.abs(solution.total(solution.boundary.x)))
print(f"{solution}; on the body at most {still:.1e} at any time")
assert still < 1e-9

if len(sys.argv) > 1:
    plot.wave_film(solution, sys.argv[1], frames=20, resolution=150, box=[(-4.0, -3.2), (4.4, 3.2)])
