"""Double precision: asked for once, by the user; never switched behind their back."""

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def enable_x64() -> None:
    """Lets JAX compute in double precision. Call it once, right after the imports.

    Importing edgewise changes no JAX setting; setting `JAX_ENABLE_X64=1` in the environment does the same as this call.

    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> ew.precision.working_dtype(None)
    dtype('float64')
    """
    jax.config.update("jax_enable_x64", True)


def working_dtype(dtype: str | None) -> np.dtype:
    """The real dtype to compute in; refuses to fall to single precision silently."""
    if dtype not in (None, "float32", "float64"):
        raise ValueError(f'`dtype` must be "float64" (the default) or "float32", got {dtype!r}.')
    if dtype == "float32":
        return np.dtype("float32")
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError(
            "JAX is in single precision (x64 is off), where this would lose nine digits; double precision was "
            "expected. "
            'Call `ew.enable_x64()` after the imports, or set JAX_ENABLE_X64=1; or pass `dtype="float32"` to accept it.'
        )
    return np.dtype("float64")


def is_concrete(*arrays: Any) -> bool:
    """Whether the values can be looked at: false while JAX traces them under `jit`, `vmap` or `grad`."""
    try:
        for array in arrays:
            np.asarray(array)
    except jax.errors.TracerArrayConversionError:
        return False
    return True


def complex_dtype(dtype) -> np.dtype:
    """The complex dtype of the same precision."""
    return np.dtype(jnp.result_type(dtype, jnp.complex64))


@contextlib.contextmanager
def double_precision() -> Iterator[None]:
    """For what must not depend on the session's precision: the structure of a network. No array leaves the context.

    JAX keeps what it made of a NumPy array that a user's function holds, and would hand an array of 64 bits to code
    compiled for 32; so what it keeps is forgotten, in sessions of single precision, where all of it has to be compiled
    again.
    """
    if jax.config.read("jax_enable_x64"):
        yield
        return
    try:
        with jax.enable_x64(True):
            yield
    finally:
        jax.clear_caches()
