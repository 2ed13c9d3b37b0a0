"""How a field value changes with the shape: the derivative goes through the solve."""

import jax
import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

problem = ew.Problem(
    family=ew.StarCurve(lambda s, t: 1 + 0.2 * t * jnp.cos(3 * s)),
    parameters=ew.Box(t=(0.0, 1.0)),
    representation=ew.SingleLayer(ew.Laplace(dim=2)),
    data=lambda x: x[0] ** 2,  # not harmonic: the field depends on the shape
    side="interior",
)
rule = ew.Kress(128)
point = jnp.array([0.3, 0.2])


def value(t):
    return ew.solve(problem, t=t, quadrature=rule)(point)


derivative = jax.grad(value)(0.5)
h = 1e-4
difference = (value(0.5 + h) - value(0.5 - h)) / (2 * h)
print(f"derivative {derivative:.10f}, central difference {difference:.10f}")
# The difference itself errs by about h².
assert abs(derivative - difference) < 1e-7
assert abs(derivative) > 1e-3
