"""An equation of one's own: a clamped plate under tension, Δ²u - λ²Δu = 0, checked, then solved outside a kite."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import edgewise as ew
from edgewise.base.named import number
from edgewise.kernels import Singularity
from edgewise.testing import check_kernel, laplacian

ew.enable_x64()


class TensionedPlate(ew.AbstractKernel):
    """(Δ² - λ²Δ)G = δ: G = -(K0(λ|d|) + log |d|) / 2πλ², the difference of Laplace's and the modified kernel over λ²."""

    lam: Any = eqx.field(converter=number)
    dim: int = eqx.field(static=True, default=2)
    order = 4
    polynomials = 1

    def log_part(self, q):
        return (ew.Laplace(2).log_part(q) - ew.ModifiedHelmholtz(2, self.lam).log_part(q)) / self.lam**2

    def smooth_part(self, q):
        return (ew.Laplace(2).smooth_part(q) - ew.ModifiedHelmholtz(2, self.lam).smooth_part(q)) / self.lam**2

    def singularity(self, layer):
        return Singularity.LOG

    @property
    def rate(self):
        return self.lam


print(check_kernel(TensionedPlate(2.0), lambda u: lambda x: laplacian(laplacian(u))(x) - 4.0 * laplacian(u)(x)))

u = lambda x: ew.ModifiedHelmholtz(2, 2.0).fundamental(x) + x[0] / (x @ x) + 0.3  # Δu = λ²u, Δu = 0, a constant
data = lambda x, normal: (u(x), jax.grad(u)(x) @ normal)
plate = ew.LayerPair(TensionedPlate("tension"))
problem = ew.Problem(ew.Kite(), ew.Box(tension=(1.0, 3.0)), plate, data, "exterior", condition=ew.Clamped())
solution, x = ew.solve(problem, tension=2.0, quadrature=ew.Kress(192)), jnp.array([1.5, 0.7])
print(f"{solution.result}, error {abs(solution(x) - u(x)):.1e}, tends to {solution.at_infinity:.12f}")
assert abs(solution(x) - u(x)) < 1e-10 and abs(solution.at_infinity - 0.3) < 1e-10
