"""What ufbx itself says of the lights and cameras of a file, turned to glTF's axes by its options.

The library cannot read two files in a process, so tests call this in one of its own.
"""

from __future__ import annotations

import ufbx

from encoders.kit.isolate import isolated_alone
from encoders.kit.source.fbx.library import items, vector


@isolated_alone
def view_lights(data: bytes, name: str) -> dict[str, dict]:
    """Lights and cameras by the name of their node; a matrix is four columns in metres."""
    del name
    axes = ufbx.axes_right_handed_y_up
    scene = ufbx.load_memory(
        data,
        target_axes=axes,
        target_light_axes=axes,
        target_camera_axes=axes,
        target_unit_meters=1.0,
        space_conversion=ufbx.SpaceConversion.MODIFY_GEOMETRY,
    )
    lights, cameras = items(scene.lights), items(scene.cameras)
    return {
        items(one.instances)[0].name: {**_facts(one), **_place(items(one.instances)[0])}
        for one in [*lights, *cameras]
    }


def _place(node) -> dict:
    world = node.node_to_world
    forward = [-one for one in vector(world.c2)]
    return {"position": vector(world.c3), "up": vector(world.c1), "forward": forward}


def _facts(one) -> dict:
    if isinstance(one, ufbx.Camera):
        tangent = one.field_of_view_tan
        return {"fov_y": one.field_of_view_deg.y, "clip": (one.near_plane, one.far_plane)} | {
            "aspect": tangent.x / tangent.y
        }
    angles = one.inner_angle, one.outer_angle
    return {"intensity": one.intensity, "color": vector(one.color), "angles": angles}
