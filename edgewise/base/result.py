"""How a computation ended: a code for programs, words for people."""

import enum

import equinox as eqx
import numpy as np
from jaxtyping import Array

from edgewise.base.precision import is_concrete


class Code(enum.IntEnum):
    """How a computation ended, from well to worst."""

    CONVERGED = 0
    OUTSIDE = 1
    UNTRAINED = 2
    UNRESOLVED = 3
    NO_CONVERGENCE = 4
    SINGULAR = 5
    INCOMPATIBLE = 6
    NOT_FINITE = 7


MESSAGES = {
    Code.CONVERGED: "converged",
    Code.OUTSIDE: "outside the box that the operator was trained on, where nothing vouches for it but "
    "`error_estimate()`. Pass `tol=` to have it refined, or use `solve`",
    Code.UNTRAINED: "the operator's error on members it was not trained on is above its recipe's `validation.tol`. "
    "Train it longer, or use `solve`",
    Code.UNRESOLVED: "not resolved: the density has not settled to `tol` on these nodes. Use more, or a larger `tol`",
    Code.NO_CONVERGENCE: "GMRES did not reach `tol`, which may be below what rounding allows. Use a larger `tol`, "
    'or `solve` with `method="direct"`',
    Code.SINGULAR: "the equation is singular, or too nearly so for `tol`: the problem has no unique solution, or "
    "cannot be solved by this representation. Change the coefficient of `Robin` or the wavenumber; for waves outside "
    "use `CombinedField`",
    Code.INCOMPATIBLE: "inside, Neumann data must have integral zero, and these do not. Subtract their mean",
    Code.NOT_FINITE: "the data are not finite at some node. Keep their singularities off the boundary",
}


class Result(eqx.Module):
    """How a computation ended, in a word that a program can test (`ok`) and one that a person can read (`str`)."""

    code: Array
    needed: Array
    """Nodes that are enough, where those given are too few; 0 where that is not known."""
    counted: str = eqx.field(static=True, default="on each curve are")
    """Which nodes those are."""

    @property
    def ok(self) -> bool:
        return bool(np.all(np.asarray(self.code) == 0))

    @property
    def message(self) -> str:
        codes = np.atleast_1d(np.asarray(self.code))
        worst = Code(codes.max())
        needed = int(np.max(np.asarray(self.needed)))
        words = MESSAGES[worst] + (f": {needed} nodes {self.counted} enough" if needed else "")
        if codes.size == 1 or worst == Code.CONVERGED:
            return words
        return f"{int(np.sum(codes != 0))} of {codes.size} members: {words}"

    def __repr__(self) -> str:
        return f"Result({str(self)!r})"

    def __str__(self) -> str:
        return self.message if is_concrete(self.code) else "traced"
