"""Caches what was found out about a problem."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from edgewise.base.precision import is_concrete
from edgewise.problem import Problem

Found = TypeVar("Found")


class _Same:
    """A problem that equals itself alone: it holds arrays and functions, which have no hash."""

    __slots__ = ("problem",)

    def __init__(self, problem: Problem):
        self.problem = problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.problem is other.problem

    def __hash__(self) -> int:
        return id(self.problem)


def remembered(look: Callable[[Problem], Found]) -> Callable[[Problem], Found]:
    """Caches what a function finds in the last few problems; it sees concrete numbers even where a network is
    traced."""

    @functools.lru_cache(maxsize=8)
    def known(same: _Same) -> Any:
        # Inside of it constants are computed one by one, which takes seconds; where nothing is traced there is no need.
        is_traced = not is_concrete(jnp.zeros(()))
        with jax.ensure_compile_time_eval() if is_traced else contextlib.nullcontext():
            return look(same.problem)

    @functools.wraps(look)
    def found(problem: Problem) -> Found:
        return known(_Same(problem))

    return found
