"""A body as a network sees it in a plane wave: turned until the wave travels along the first axis."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.base.named import name_of, names_in
from edgewise.learn.amounts import direction_angle
from edgewise.learn.collocation import training_members
from edgewise.learn.inputs import Fixed, ParameterInputs
from edgewise.learn.multiplied import data_names
from edgewise.potentials import PlaneWave
from edgewise.problem import Problem
from edgewise.quadrature import rule_for
from edgewise.quadrature.rule import sides

# Nodes that resolve a curve, members that show what varies, and the share of the largest variation that still counts.
NODES, MEMBERS, LEAST = 64, 256, 1e-3
# At most so many numbers, those that vary most.
MOST = 64


class WaveFrame(eqx.Module):
    """The Fourier coefficients of the boundary in the frame of the wave, and the parameters that no boundary shows.

    With the plane as complex numbers, z(s) = Σ_m X_m e^{ims}. Turned by -α, and its coordinate with it, the boundary
    has the coefficients X_m e^{i(m-1)α}: a circle looks the same from everywhere. Body and wave turned together turn
    the solution, so that a network which sees these numbers, and answers in the coordinate s - α, need not learn it.
    """

    family: Fixed
    others: ParameterInputs
    direction: str = eqx.field(static=True)
    wavenumber: str | None = eqx.field(static=True)
    """The parameter that is the wavenumber: its logarithm is seen too, since the answer changes by octaves."""
    chosen: tuple[int, ...] = eqx.field(static=True)
    """The indices of the real and imaginary parts that vary."""
    middle: Fixed
    spread: Fixed
    """Their means and standard deviations, by which they are scaled."""

    def __init__(self, problem: Problem, dtype: Any):
        direction = wave_direction(problem)
        assert direction is not None, "see `building`"
        shaping = names_in(problem.family)
        elsewhere = names_in((problem.representation, problem.condition, problem.at_infinity))
        told = [name for name in problem.parameters.names if name in shaping and name not in elsewhere]
        self.family, self.direction = Fixed(problem.family), direction
        self.others = ParameterInputs(problem.parameters.without([direction, *told]), 0)
        self.wavenumber = wavenumber_name(problem)
        # Which numbers vary decides the network's shape, so it is found even where a network is only traced.
        with jax.ensure_compile_time_eval():
            members = training_members(problem.parameters, MEMBERS, np.dtype(float))
            numbers = np.asarray(jax.jit(jax.vmap(self._every))(members))
        spread = numbers.std(axis=0)
        varying = np.argsort(-spread, kind="stable")[:MOST]
        # A circle is the same in every frame, but for rounding.
        least = max(LEAST * spread.max(), 1e-9 * np.abs(numbers).max())
        self.chosen = tuple(sorted(int(i) for i in varying if spread[i] > least))
        picked = list(self.chosen)
        self.middle, self.spread = (Fixed(jnp.asarray(part[picked], dtype)) for part in (numbers.mean(axis=0), spread))

    @property
    def size(self) -> int:
        return len(self.chosen) + self.others.size + (self.wavenumber is not None)

    def angle(self, parameters: Mapping[str, Any]) -> Float[Array, ""]:
        """The angle α from the first axis to the direction of the wave."""
        return direction_angle(parameters[self.direction])

    def shifts(self, parameters: Mapping[str, Any]) -> Float[Array, " curves"]:
        """The shift of each curve's coordinate: α, or -α where the coordinate runs clockwise."""
        angle, family = self.angle(parameters), self.family.value
        curves = len(family.curves)
        if sides(family):
            # Seen by the rule's coordinate, which runs as the nodes do.
            return jnp.broadcast_to(angle, (curves,))
        s = rule_for(family, 4).place(family, parameters, angle.dtype).s.reshape(curves, -1)
        return jnp.where(s[:, 2] < s[:, 1], -angle, angle)

    def vector(self, parameters: Mapping[str, Any]) -> Float[Array, " size"]:
        seen = (self._every(parameters)[np.array(self.chosen, int)] - self.middle.value) / self.spread.value
        return jnp.concatenate([seen, self.others.vector(parameters).astype(seen.dtype), *self._octaves(parameters)])

    def _octaves(self, parameters: Mapping[str, Any]) -> list[Float[Array, " 1"]]:
        if self.wavenumber is None:
            return []
        ends = dict(self.others.box.specs)[self.wavenumber].bounds
        low, high = (float(np.log(np.maximum(end, np.finfo(float).tiny))) for end in ends)
        k = jnp.asarray(parameters[self.wavenumber])
        return [((2 * jnp.log(k) - low - high) / max(high - low, 1e-9)).reshape(1)]

    def _every(self, parameters: Mapping[str, Any]) -> Float[Array, " n"]:
        """Real and imaginary parts of all coefficients of all curves."""
        angle, family = self.angle(parameters), self.family.value
        x = rule_for(family, NODES).place(family, parameters, angle.dtype).x
        nodes = x.shape[0] // len(family.curves)
        z = jax.lax.complex(x[:, 0], x[:, 1]).reshape(-1, nodes)
        waves = np.arange(-nodes // 2, nodes // 2)
        transform = np.exp(-2j * np.pi * np.outer(waves, np.arange(nodes)) / nodes) / nodes
        turned = z @ jnp.asarray(transform.T, z.dtype) * jnp.exp(1j * (waves - 1) * angle)
        return jnp.concatenate([turned.real.reshape(-1), turned.imag.reshape(-1)])


def wave_direction(problem: Problem) -> str | None:
    """The parameter that is the direction (or angle) of a plane wave and nothing else; None where there is none."""
    wave = plane_wave(problem)
    name = name_of(wave.direction) if wave else None
    return name if name in data_names(problem) else None


def plane_wave(problem: Problem) -> PlaneWave | None:
    """The data, where they are a plane wave."""
    return problem.data if isinstance(problem.data, PlaneWave) else None


def wavenumber_name(problem: Problem) -> str | None:
    """The parameter that is the wavenumber of the kernel; None where there is none."""
    return name_of(getattr(problem.representation.kernel, "wavenumber", None))


def turned(
    harmonics: Float[Array, "... curves 2k+1"], angle: Float[Array, " curves"], back: bool = False
) -> Float[Array, "... curves 2k+1"]:
    """1, cos ks, sin ks at s - α from those at s; `back`, the coefficients at s of a sum that has these at s - α."""
    count = harmonics.shape[-1] // 2
    one, cosines, sines = jnp.split(harmonics, [1, count + 1], axis=-1)
    phase = angle[:, None] * np.arange(1, count + 1)
    c, s = jnp.cos(phase), jnp.sin(phase) * (-1 if back else 1)
    return jnp.concatenate([one, cosines * c + sines * s, sines * c - cosines * s], axis=-1)
