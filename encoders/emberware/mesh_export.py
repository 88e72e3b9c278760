"""A mesh file as OBJ, to look at it in any viewer."""

from __future__ import annotations

from encoders.emberware.mesh import unpack_mesh
from encoders.emberware.octahedral import unpack_directions
from encoders.emberware.vertex import unpack_vertices


def export_obj(data: bytes, name: str) -> dict[str, bytes]:
    """Return the geometry as OBJ, whose v points upwards."""
    mesh = unpack_mesh(data, name)
    columns = unpack_vertices(mesh["vertex_data"], mesh["format"], mesh["vertex_count"], name)
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in columns["position"].tolist()]
    parts = ["{0}", "", ""]
    if "uv" in columns:
        lines += [f"vt {u / 65535:.9g} {1 - v / 65535:.9g}" for u, v in columns["uv"].tolist()]
        parts[1] = "{0}"
    if "normal" in columns:
        normals = unpack_directions(columns["normal"]).tolist()
        lines += [f"vn {x:.9g} {y:.9g} {z:.9g}" for x, y, z in normals]
        parts[2] = "{0}"
    corner = "/".join(parts).rstrip("/")
    for triangle in mesh["index_data"].reshape(-1, 3).tolist():
        lines.append("f " + " ".join(corner.format(index + 1) for index in triangle))
    return {"mesh.obj": "\n".join([*lines, ""]).encode()}
