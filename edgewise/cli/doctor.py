"""`edgewise doctor`: what this machine would use, and what is missing."""

import importlib.metadata
import importlib.util
import os
import platform
from typing import Any

import jax

from edgewise import __version__
from edgewise.base.precision import enable_x64
from edgewise.cli.output import to_json

CORE = ("jax", "jaxlib", "equinox", "optax", "jaxtyping", "numpy", "safetensors", "tyro", "tqdm")
# The packages of every extra that adds a feature; those of a developer are not a user's concern.
EXTRAS = {
    "plot": ("matplotlib",),
    "io": ("meshio", "xarray", "h5netcdf", "h5py"),
}


def run(command: Any) -> None:
    given = bool(jax.config.read("jax_enable_x64"))
    enable_x64()
    report = {
        "edgewise": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "devices": [f"{device.platform}:{device.id} {device.device_kind}" for device in jax.devices()],
        "x64": {"by the environment": given, "in this command": bool(jax.config.read("jax_enable_x64"))},
        "versions": {name: _version(name) for name in CORE},
        "extras": {extra: _missing(names) for extra, names in EXTRAS.items()},
    }
    print(to_json(report) if command.json else _words(report))


def _words(report: dict[str, Any]) -> str:
    given = report["x64"]["by the environment"]
    versions = ", ".join(f"{name} {version or 'missing'}" for name, version in report["versions"].items())
    lines = [
        f"edgewise  {report['edgewise']}",
        f"python    {report['python']} on {report['platform']}, {report['cores']} cores",
        f"devices   {', '.join(report['devices'])}",
        f"precision double{', by JAX_ENABLE_X64' if given else ' here; in Python, call `ew.enable_x64()` first'}",
        f"versions  {versions}",
    ]
    for extra, missing in report["extras"].items():
        state = f'{", ".join(missing)} missing, `pip install "edgewise[{extra}]"`' if missing else "present"
        lines.append(f"extra     {extra}: {state}")
    return "\n".join(lines)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _missing(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]
