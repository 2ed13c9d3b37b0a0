"""How a computation ended: a code for programs, words for people."""

import enum

import equinox as eqx
import numpy as np
from jaxtyping import Array

from edgewise.precision import is_concrete


class Code(enum.IntEnum):
    """How a computation ended, from well to worst."""

    CONVERGED = 0
    UNTRAINED = 1
    UNRESOLVED = 2
    NO_CONVERGENCE = 3
    SINGULAR = 4
    INCOMPATIBLE = 5
    NOT_FINITE = 6


MESSAGES = {
    Code.CONVERGED: "converged",
    Code.UNTRAINED: "the operator's error on members it was not trained on is above its recipe's `validation.tol`. Train it longer, "
    "or use `solve`",
    Code.UNRESOLVED: "not resolved: the density has not settled to `tol` on these nodes. Use more, or a larger `tol`",
    Code.NO_CONVERGENCE: 'GMRES did not reach `tol`. Use `method="direct"`, or a larger `tol`',
    Code.SINGULAR: "the equation is singular: the problem has no unique solution. Change the coefficient of `Robin` or the "
    "wavenumber; for waves outside use `CombinedField`",
    Code.INCOMPATIBLE: "inside, Neumann data must have integral zero, and these do not. Subtract their mean",
    Code.NOT_FINITE: "the data are not finite at some node. Keep their singularities off the boundary",
}


class Result(eqx.Module):
    """How a computation ended, in a word that a program can test (`ok`) and one that a person can read (`str`)."""

    code: Array
    needed: Array
    """Nodes on each curve that were found to be enough, where those given are too few; 0 where that is not known."""

    @property
    def ok(self) -> bool:
        return bool(np.all(np.asarray(self.code) == 0))

    @property
    def message(self) -> str:
        codes = np.atleast_1d(np.asarray(self.code))
        worst = Code(codes.max())
        needed = int(np.max(np.asarray(self.needed)))
        words = MESSAGES[worst] + (f": {needed} nodes on each curve are enough" if needed else "")
        if codes.size == 1 or worst == Code.CONVERGED:
            return words
        return f"{int(np.sum(codes != 0))} of {codes.size} members: {words}"

    def __str__(self) -> str:
        return self.message if is_concrete(self.code) else "traced"
