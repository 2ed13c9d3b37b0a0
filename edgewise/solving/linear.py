"""Linear systems: a direct solve, and GMRES that takes a first guess and counts applications of the matrix."""

import functools
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Inexact
from threadpoolctl import ThreadpoolController

from edgewise.base.precision import is_concrete

Operator = Callable[[Array], Array]

# Unknowns from which on elimination uses several threads well by itself.
LARGE = 512


def direct(
    matrices: Inexact[Array, "b n n"], rhs: Inexact[Array, "b n"], *, symmetric: bool = False, refine: bool = False
) -> Inexact[Array, "b n"]:
    """Gaussian elimination with partial pivoting, for a batch of systems.

    `refine` solves once more for the residual. It is for systems where elimination is known to lose digits that the
    matrix itself does not lose. On the CPU, with values at hand, this costs next to nothing, and one system alone or a
    large one always gets it.

    On the CPU, with values at hand, the small systems of a batch go to LAPACK side by side, one thread each. On two
    cores this is twice as fast as what XLA does, which is to solve one system after the other with two threads. A
    singular system gives infinities.
    """
    if is_concrete(matrices, rhs) and jax.default_backend() == "cpu":
        # LAPACK reads columns: a symmetric matrix seen as its transpose need not be rearranged for it.
        rows = np.asarray(matrices)
        rows, values = rows.transpose(0, 2, 1) if symmetric else rows, np.asarray(rhs)
        if refine or len(values) == 1 or values.shape[1] >= LARGE:
            return jnp.asarray(np.stack([_refined(*system) for system in zip(rows, values, strict=True)]))
        return jnp.asarray(_side_by_side(rows, values))
    solution = jax.vmap(jnp.linalg.solve)(matrices, rhs)
    if refine:
        solution = solution + jax.vmap(jnp.linalg.solve)(matrices, rhs - jax.vmap(jnp.matmul)(matrices, solution))
    return solution


def _refined(matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """One factorisation, used twice: what rounding in it has left of the residual is solved for again."""
    with warnings.catch_warnings():
        # Of an exactly singular matrix: told by the infinities.
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
        factors = scipy.linalg.lu_factor(matrix, check_finite=False)
    if np.any(np.diagonal(factors[0]) == 0):
        return np.full_like(rhs, np.inf)
    solution = scipy.linalg.lu_solve(factors, rhs, check_finite=False)
    return solution + scipy.linalg.lu_solve(factors, rhs - matrix @ solution, check_finite=False)


def _side_by_side(matrices: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    workers = min(len(rhs), os.cpu_count() or 1)
    if workers == 1:
        return _gauss(matrices, rhs)
    # One call a worker, since NumPy holds Python's lock between calls.
    parts = [slice(start, None, workers) for start in range(workers)]
    solution = np.empty_like(rhs)
    with _blas().limit(limits=1, user_api="blas"):
        for part, solved in zip(parts, _pool().map(lambda p: _gauss(matrices[p], rhs[p]), parts), strict=True):
            solution[part] = solved
    return solution


def _gauss(matrices: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(matrices, rhs[..., None])[..., 0]
    except np.linalg.LinAlgError:
        if len(rhs) == 1:
            return np.full_like(rhs, np.inf)
        # One singular system must not spoil its neighbours.
        return np.concatenate([_gauss(matrices[i : i + 1], rhs[i : i + 1]) for i in range(len(rhs))])


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1)


@functools.cache
def _blas() -> ThreadpoolController:
    """Finding the libraries takes milliseconds: once is enough."""
    return ThreadpoolController()


def gmres(
    apply: Operator,
    rhs: Inexact[Array, " n"],
    *,
    tol: float | Array,
    guess: Inexact[Array, " n"] | None = None,
    precondition: Operator = lambda x: x,
    max_applications: int = 200,
) -> tuple[Inexact[Array, " n"], Array, Array]:
    """Left-preconditioned GMRES without restarts, differentiable in whatever `apply` and `rhs` depend on.

    Returns the solution, the number of applications of the matrix, and the relative (preconditioned) residual reached.
    Every application counts, also the first, which a guess needs and zero does not.
    """

    def solve(apply, rhs):
        start = jnp.zeros_like(rhs) if guess is None else guess
        spent = 0 if guess is None else 1
        residual = precondition(rhs - apply(start) if spent else rhs)
        threshold = tol * jnp.linalg.norm(precondition(rhs))
        correction, steps, size = _krylov(
            lambda x: precondition(apply(x)), residual, threshold, max_applications - spent
        )
        return start + correction, (steps + spent, size * tol / jnp.where(threshold > 0, threshold, 1))

    def solve_transposed(transposed, rhs):
        # (PA)ᵀ z = rhs and y = Pᵀ z: the same spectrum, so as fast as the solve itself.
        backwards = jax.linear_transpose(precondition, rhs)
        z, steps, size = _krylov(
            lambda x: transposed(backwards(x)[0]), rhs, tol * jnp.linalg.norm(rhs), max_applications
        )
        return backwards(z)[0], (steps, size)

    solution, (applications, reached) = jax.lax.custom_linear_solve(apply, rhs, solve, solve_transposed, has_aux=True)
    return solution, applications, reached


def _krylov(apply: Operator, residual: Array, threshold: Array, steps: int) -> tuple[Array, Array, Array]:
    """Minimises |residual - apply(x)| over Krylov spaces until below `threshold`; returns x, the steps, the minimum."""
    dtype = residual.dtype
    norm = jnp.linalg.norm(residual)
    basis = jnp.zeros((steps + 1, residual.shape[0]), dtype).at[0].set(residual / jnp.where(norm > 0, norm, 1))
    triangle = jnp.eye(steps, dtype=dtype)
    rotations = jnp.zeros((steps, 2), dtype)
    target = jnp.zeros(steps + 1, dtype).at[0].set(norm)

    def unfinished(state):
        step, *_, target = state
        return (step < steps) & (jnp.abs(target[step]) > threshold)

    def arnoldi(state):
        step, basis, triangle, rotations, target = state
        vector = apply(basis[step])
        column = jnp.zeros(steps + 1, dtype)
        # Twice is enough: one pass of classical Gram-Schmidt loses orthogonality, a second restores it.
        for _ in range(2):
            projection = basis.conj() @ vector
            vector = vector - basis.T @ projection
            column = column + projection
        length = jnp.linalg.norm(vector)
        basis = basis.at[step + 1].set(vector / jnp.where(length > 0, length, 1))
        column = jax.lax.fori_loop(
            0, step, lambda i, column: _rotate(column, i, rotations[i]), column.at[step + 1].set(length)
        )
        size = jnp.sqrt(jnp.abs(column[step]) ** 2 + jnp.abs(column[step + 1]) ** 2)
        rotation = jnp.stack([column[step].conj(), column[step + 1]]) / jnp.where(size > 0, size, 1)
        column, target = _rotate(column, step, rotation), _rotate(target, step, rotation)
        return step + 1, basis, triangle.at[:, step].set(column[:-1]), rotations.at[step].set(rotation), target

    state = (jnp.zeros((), int), basis, triangle, rotations, target)
    step, basis, triangle, _, target = jax.lax.while_loop(unfinished, arnoldi, state)
    # Columns not reached are still those of the identity, and their targets are zeroed.
    reached = jnp.where(jnp.arange(steps) < step, target[:-1], 0)
    weights = jax.scipy.linalg.solve_triangular(triangle, reached)
    return basis[:-1].T @ weights, step, jnp.abs(target[step])


def _rotate(vector: Array, i: Array, rotation: Array) -> Array:
    """A Givens rotation of entries i and i + 1."""
    cosine, sine = rotation
    upper, lower = vector[i], vector[i + 1]
    return vector.at[i].set(cosine * upper + sine * lower).at[i + 1].set(-sine * upper + cosine.conj() * lower)
