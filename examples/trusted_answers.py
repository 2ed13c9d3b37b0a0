"""How wrong is a learned answer? It says so itself, and is refined where it must be."""

import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()
operator = ew.pretrained("laplace-star")  # trained on 1 <= t <= 2
t = jnp.array([1.2, 1.9, 2.2, 2.4])
plain = operator(t=t, extrapolate=True)
within = operator(t=t, tol=1e-8, extrapolate=True)
truth = lambda x: jnp.exp(x[..., 0]) * jnp.sin(x[..., 1])
points = jnp.array([[0.3, 0.2], [-0.5, -0.4], [0.9, 0.4]])


def largest_error(solution):
    return jnp.max(jnp.abs(solution(points) - truth(points)), axis=1)


bounds = plain.error_estimate().value
print("   t   error at three points   bound   refined   bound after")
for i in range(len(t)):
    print(
        f"{t[i]:.2f} {largest_error(plain)[i]:23.1e} {bounds[i]:7.0e} {within.stats['refined'][i]!s:>9} {within.stats['error'][i]:13.0e}"
    )
assert jnp.all(largest_error(plain) <= bounds)  # never wrong by more than it says
assert within.stats["refined"].tolist() == [False, False, True, True]
assert jnp.all(largest_error(within) <= 1e-8) and jnp.all(within.stats["error"] <= 1e-8)
