"""Options of a manifest that change a mesh when it is read, the same for every target.

A target adds `MESH_IMPORT` to the options of a kind, gives its node the params
`chosen(asset.options, MESH_IMPORT)`, and its encoder calls `import_mesh` on the decoded mesh. A
target without a `flip_v` of its own adds `FLIP_V` as well and calls `flip_v`. A target that can
show back sides adds `double_sided(default)` and calls `add_backs` of `back_side`. One that stores
normals adds `SHADING`. `SUBDIVIDE` concerns the conversion of a source: a target passes the options
to `plan_inputs`.
Imported while planning, so it must not import numpy.
"""

from __future__ import annotations

from encoders.kit.option import Choice, Either, Flag, Number, Option, Several, Value

KEEP = "keep"
SUBDIVIDE = {
    "subdivide": Option(
        Number(0, 6, whole=True),
        0,
        "how often the subdivision surfaces of a USD source are refined; 0 shows their cages",
    )
}
MESH_IMPORT = {
    **SUBDIVIDE,
    "up": Option(Choice(("y", "z")), "y", "the axis that points up in the source"),
    "pivot": Option(
        Either((Choice((KEEP, "center", "bottom")), Several(Number(-1e9, 1e9), 3, 3))),
        KEEP,
        "the point that becomes the origin: the middle of the bounds or of their bottom, or x y z",
    ),
    "triangles": Option(
        Number(1, 1 << 30, whole=True), None, "simplify the mesh to at most so many triangles"
    ),
    "simplify": Option(
        Number(0.001, 1),
        None,
        "simplify the mesh to this part of its triangles",
        excludes="triangles",
    ),
}
SHADING = {
    "shading": Option(
        Choice(("auto", "angle", "smooth", "flat")),
        "auto",
        "the source's normals, or new ones: smooth where triangles meet at less than 50 degrees, "
        "smooth everywhere, or flat",
    )
}
FLIP_V = {"flip_v": Option(Flag(), False, "whether v is turned over")}
# The value of `double_sided` that follows the materials.
SOURCE = "source"


def double_sided(default: Value, note: str = "") -> dict[str, Option]:
    """Declare `double_sided`; the default is the target's, and `note` says what it means there."""
    doc = "whether triangles get a back side; `source` does as the material says"
    rule = Either((Choice((SOURCE,)), Flag()))
    return {"double_sided": Option(rule, default, f"{doc}{note}")}
