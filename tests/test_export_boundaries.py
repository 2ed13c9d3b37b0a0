"""Boundaries in files for other programs: closed, turned outwards, with the densities of their nodes."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from exported import body, solved

import edgewise as ew
from edgewise.cli.points import read_points
from edgewise.density import NodalDensity
from edgewise.export.boundary import closed_curves

meshio = pytest.importorskip("meshio", reason='needs meshio, `pip install "edgewise[io]"`')
pytest.importorskip("xarray", reason='needs xarray, `pip install "edgewise[io]"`')


def test_boundaries_of_the_plane_are_closed_lines(tmp_path):
    solution = solved("stars")
    ew.write(tmp_path / "edge.vtu", solution)
    for i, member in enumerate(solution):
        mesh = meshio.vtu.read(str(tmp_path / f"edge_{i}.vtu"))
        lines = mesh.cells_dict["line"]
        assert np.all(np.bincount(lines.ravel()) == 2)
        np.testing.assert_array_equal(mesh.points[:, :2], member.boundary.x)
        np.testing.assert_array_equal(mesh.point_data["density"], member.density.values)
        np.testing.assert_array_equal(mesh.point_data["normal"][:, :2], member.boundary.normal)
        # The area by Green's formula, of the polygon and of the curve: right to the square of the spacing.
        a, b = mesh.points[lines[:, 0], :2], mesh.points[lines[:, 1], :2]
        area = jnp.sum(member.boundary.weight * jnp.sum(member.boundary.x * member.boundary.normal, axis=1)) / 2
        assert abs(np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2 / area - 1) < 0.02
    assert closed_curves(2, 6)[0][1].tolist() == [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]


@pytest.mark.parametrize(
    ("arguments", "volume", "area"),
    [
        ((ew.Sphere(), 6, 2), 4 / 3 * np.pi, 4 * np.pi),
        ((ew.Cuboid(), 4, 2), 1.0, 6.0),
        ((ew.HalfBalls(0.2), 6), 4 / 3 * np.pi, 6 * np.pi),
    ],
    ids=["sphere", "cube", "half-balls"],
)
def test_boundaries_in_space_are_closed_surfaces(tmp_path, arguments, volume, area):
    given = body(*arguments)
    mesh = meshio.vtu.read(str(ew.write(tmp_path / "body.vtu", given)))
    squares = mesh.cells_dict["quad"]
    x, density = mesh.points, mesh.point_data["density"]
    # Every edge belongs to two squares, once the points that patches share are one; and is gone along in either way.
    _, same = np.unique(np.round(x, 9) + 0.0, axis=0, return_inverse=True)
    edges = np.concatenate([same.reshape(-1)[squares[:, [i, (i + 1) % 4]]] for i in range(4)])
    ways, counts = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0, return_counts=True)
    assert np.all(counts == 1) and {tuple(way) for way in ways} == {tuple(way[::-1]) for way in ways}
    # Seen from outside they turn anticlockwise: the volume by Gauss's formula is positive.
    a, b, c, d = np.moveaxis(x[squares], 1, 0)
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    flat = area == 6.0
    assert abs(np.linalg.det(faces).sum() / 6 / volume - 1) < (1e-9 if flat else 0.08)
    assert abs(np.linalg.norm(np.cross(c - a, d - b), axis=1).sum() / 2 / area - 1) < (1e-9 if flat else 0.04)
    np.testing.assert_allclose(np.linalg.norm(mesh.point_data["normal"], axis=1), 1)
    # Nodes keep the values they have.
    nodes, values = np.asarray(given.boundary.x), np.asarray(given.density.values)
    nearest = np.argmin(np.linalg.norm(x[:, None] - nodes, axis=-1), axis=0)
    np.testing.assert_allclose(x[nearest], nodes, atol=1e-14)
    np.testing.assert_array_equal(density[nearest], values)
    # On sides the polynomial goes on; on edges the nearest node's value stands.
    line = np.concatenate([[0.0], np.unique(given.quadrature.grid()[0][:, 0]), [1.0]])
    u, v = np.meshgrid(line, line, indexing="ij")
    smooth = np.broadcast_to(u**3 - 2 * v**2 * u, (given.problem.family.patches, *u.shape))
    on_edge = mesh.point_data["jacobian"].reshape(smooth.shape) < 1e-6
    assert on_edge.any() == given.problem.family.has_edges
    np.testing.assert_allclose(density.reshape(smooth.shape)[~on_edge], smooth[~on_edge], atol=1e-12)
    assert values.min() <= density.reshape(smooth.shape)[on_edge].min(initial=0) and density.max() <= 1 + 1e-12


def test_a_pair_of_densities_is_two_arrays():
    star = solved("stars")[0]
    pair = dataclasses.replace(
        star, density=NodalDensity(star.boundary.s, jnp.stack([star.density.values, star.boundary.s]))
    )
    data = ew.to_xarray(pair)
    np.testing.assert_array_equal(data.density_0, star.density.values)
    np.testing.assert_array_equal(data.density_1, star.boundary.s)


def test_boundaries_as_columns(tmp_path):
    wave = solved("wave")
    ew.write(tmp_path / "boundary.npz", wave)
    found = np.load(tmp_path / "boundary.npz")
    assert list(found) == ["x", "y", "density_re", "density_im", "normal_x", "normal_y", "jacobian", "weight"]
    np.testing.assert_array_equal(found["density_re"] + 1j * found["density_im"], wave.density.values)
    ew.write(tmp_path / "boundary.csv", solved("stars"))
    header, *rows = (tmp_path / "boundary.csv").read_text().splitlines()
    assert header == "t,x,y,density,normal_x,normal_y,jacobian,weight" and len(rows) == 3 * 64
    np.testing.assert_array_equal(read_points(tmp_path / "boundary.csv", 2), solved("stars").boundary.x.reshape(-1, 2))
