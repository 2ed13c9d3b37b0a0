"""Outside a kite: a bounded field with its constant at infinity, and one with a given total charge."""

import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

inside, other = jnp.array([-0.3, 0.4]), jnp.array([0.2, -0.5])
G = lambda x, y: -jnp.log(jnp.sum((x - y) ** 2)) / (4 * jnp.pi)  # -ΔG = δ


def outside(data, at_infinity="bounded"):
    layer = ew.SingleLayer(ew.Laplace(dim=2))
    return ew.solve(ew.Problem(ew.Kite(), None, layer, data, "exterior", at_infinity=at_infinity))


x = jnp.array([3.0, 1.0])

# Opposite charges and a constant: bounded, and the constant is what the field tends to.
dipole = lambda x: 3 + G(x, inside) - G(x, other)
bounded = outside(dipole)
print(f"tends to {bounded.at_infinity:.12f}, error {abs(bounded(x) - dipole(x)):.1e}")
assert abs(bounded.at_infinity - 3) < 1e-10
assert abs(bounded(x) - dipole(x)) < 1e-10

# A charge of 2 grows like -2 log |x| / 2π. It has to be said: boundary values alone do not decide it.
charged = lambda x: 2 * G(x, inside)
given = outside(charged, at_infinity=2.0)
print(f"with its charge given, error {abs(given(x) - charged(x)):.1e}; constant {given.at_infinity:.1e}")
assert abs(given(x) - charged(x)) < 1e-10
assert abs(outside(charged)(x) - charged(x)) > 1e-2  # the bounded field with the same values is another one
