"""OBJ and MTL files: v upwards, smoothing groups where normals are shared."""

from __future__ import annotations

from sample.gltf import corner_rows
from sample.shape import Model


def write_obj(model: Model, library: str) -> bytes:
    """Return a model as OBJ with a group for each material."""
    lists: dict[str, dict[tuple[float, ...], int]] = {"v": {}, "vt": {}, "vn": {}}
    faces: list[str] = []
    material = ""
    for polygon in model.polygons:
        if polygon.material != material:
            material = polygon.material
            faces.append(f"usemtl {material}")
        corners = []
        for row in corner_rows(polygon).tolist():
            # OBJ counts from 1, and its v runs upwards.
            parts = {"v": row[0:3], "vt": (row[6], round(1 - row[7], 5)), "vn": row[3:6]}
            spots = [
                lists[key].setdefault(tuple(one), len(lists[key]) + 1) for key, one in parts.items()
            ]
            corners.append("/".join(map(str, spots)))
        faces.append("f " + " ".join(corners))
    lines = [f"# {model.name}: {model.triangles} triangles", f"mtllib {library}", f"o {model.name}"]
    for key, rows in lists.items():
        lines += [f"{key} " + " ".join(f"{one:g}" for one in row) for row in rows]
    return "\n".join([*lines, "s 1", *faces, ""]).encode()


def write_mtl(material: str, image: str) -> bytes:
    """Return a library of one material."""
    lines = [f"newmtl {material}", "Kd 1 1 1", f"map_Kd -clamp on {image}", ""]
    return "\n".join(lines).encode()
