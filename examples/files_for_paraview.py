"""A scattered wave for ParaView (VTU) and for xarray (netCDF), read back. Needs `pip install "edgewise[io]"`."""

import jax.numpy as jnp
import meshio
import numpy as np
import xarray

import edgewise as ew

ew.enable_x64()

waves = ew.Problem(
    family=ew.Kite(),
    parameters=ew.Box(k=(1.0, 10.0), angle=ew.Angle(0.0)),
    representation=ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k")),
    data=ew.PlaneWave("angle"),
    side="exterior",
)
solution = ew.solve(waves, k=jnp.array([2.0, 3.0, 4.0]))

# waves_0.vtu, waves_1.vtu, waves_2.vtu, and waves.pvd: a series over k.
opened = ew.write("waves.vtu", solution, grid=80, overwrite=True)
ew.write("kite.vtu", solution, overwrite=True)  # the curve with its density, for every k
ew.write("waves.nc", solution, grid=80, overwrite=True)

mesh = meshio.read("waves_1.vtu")
points = mesh.points[:, :2]
found = mesh.point_data["total_re"] + 1j * mesh.point_data["total_im"]
error = np.max(np.abs(found - solution[1].total(points)))
with xarray.open_dataset("waves.nc") as fields:
    at_three = fields.swap_dims(member="k").sel(k=3.0)
    x, y = (at_three[axis].values for axis in "xy")
    there = np.stack(np.meshgrid(x, y), axis=-1)
    difference = at_three.u_re.values + 1j * at_three.u_im.values - solution[1](there)
print(
    f"{opened}: {len(points)} points of {x.size * y.size} lie outside; read back to {error:.0e}, from netCDF to {np.nanmax(abs(difference)):.0e}"
)
assert error < 1e-12 and np.nanmax(abs(difference)) < 1e-12
assert np.all(np.isnan(difference) == np.isnan(at_three.u_re.values)) and len(points) < x.size * y.size
