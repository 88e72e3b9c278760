"""A model with its skeletons: vertices where they are bound, joints at those that follow some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from encoders.kit.plan import Inputs
from encoders.kit.source.gltf.geometry.scene import place_primitives
from encoders.kit.source.gltf.light import LIGHTS
from encoders.kit.source.gltf.model import join_model
from encoders.kit.source.gltf.source import open_gltf
from encoders.kit.source.model import IDENTITY, Model, ModelObject, open_model
from encoders.kit.source.registry import is_gltf
from encoders.untold.format.light_record import CameraRecord, LightRecord
from encoders.untold.format.rig_record import SkeletonRecord
from encoders.untold.rig.binding import bind_primitives
from encoders.untold.rig.joint_forest import find_joints
from encoders.untold.rig.lighting import light_records
from encoders.untold.rig.skeleton import Skeleton, SkeletonFinder


@dataclass(frozen=True, eq=False)
class RiggedModel:
    """A model; `skeleton_of` has the skeleton of each object that follows one, by its key."""

    model: Model
    skeleton_of: dict[str, Skeleton] = field(default_factory=dict)
    finder: SkeletonFinder | None = None
    lights: Sequence[LightRecord] = ()
    cameras: Sequence[CameraRecord] = ()

    @property
    def skeletons(self) -> Sequence[Skeleton]:
        """All skeletons that objects follow."""
        return self.finder.skeletons if self.finder is not None else ()

    def records(self) -> list[SkeletonRecord]:
        """Return the skeletons as they are stored; their entities are the first ones."""
        if self.finder is None:
            return []
        return [self.finder.record(one, entity) for entity, one in enumerate(self.skeletons)]


def open_rigged(inputs: Inputs, source: str, *, with_lights: bool) -> RiggedModel:
    """Open a model; formats without nodes have no joints. Ids of lights count from 0."""
    if not is_gltf(source):
        return RiggedModel(open_model(inputs, source))
    gltf = open_gltf(inputs, source, also_read=[LIGHTS])
    lights, cameras = light_records(gltf, inputs[source], 0) if with_lights else ([], [])
    placed = place_primitives(gltf)
    bound, finder = bind_primitives(gltf, find_joints(gltf), placed)
    objects = {
        one.node: ModelObject(one.node_name or f"nodes[{one.node}]", IDENTITY) for one in placed
    }
    model = join_model(gltf, inputs, placed, [one.primitive for one in bound], objects)
    skeleton_of = {
        str(place.node): one.skeleton
        for place, one in zip(placed, bound, strict=True)
        if one.skeleton is not None
    }
    return RiggedModel(model, skeleton_of, finder, lights, cameras)
