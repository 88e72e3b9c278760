"""USD as GLB: prims, meshes, materials, instances, skins, clips, lights and cameras, by usd-core.

The stage is shown as its file says: default variants, its default prim where it names one, what is
visible and meant for rendering, at its start time. Axes become glTF's and units metres. Curves
and volumes are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdSkel

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder, OutlineBuilder
from encoders.kit.source.gltf.document.extension import TEXTURE_TRANSFORM
from encoders.kit.source.usd.animation import convert_clips
from encoders.kit.source.usd.frame import Frame
from encoders.kit.source.usd.layer import FAULTS, damaged, reason_of
from encoders.kit.source.usd.light import Lights, is_light
from encoders.kit.source.usd.material import Materials
from encoders.kit.source.usd.mesh import Meshes
from encoders.kit.source.usd.part import Part, number_parts
from encoders.kit.source.usd.shape import is_shape
from encoders.kit.source.usd.skeleton import Skeletons
from encoders.kit.source.usd.stage import Opened, open_stage, read_value
from encoders.kit.source.usd.surface import SUBDIVISION, Levels, Shown, Surfaces
from encoders.kit.warning import grouped

DEFINED = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
# Prototypes of a point instancer may be below an `over`, so that they are not shown by themselves.
PROTOTYPE = Usd.TraverseInstanceProxies(Usd.PrimIsActive & Usd.PrimIsLoaded & ~Usd.PrimIsAbstract)
NO_NAMES: frozenset[str] = frozenset()
MESH, SHAPE, INSTANCER, GPRIM = "mesh", "shape", "instancer", "gprim"
SKELETON_ROOT, SKELETON, PLACE = "skeleton root", "skeleton", "place"
LIGHT, CAMERA = "light", "camera"
# What a prim is to us; the first that is true counts.
KINDS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    (MESH, lambda prim: prim.IsA(UsdGeom.Mesh)),
    (SHAPE, is_shape),
    (INSTANCER, lambda prim: prim.IsA(UsdGeom.PointInstancer)),
    (GPRIM, lambda prim: prim.IsA(UsdGeom.Gprim)),
    (SKELETON_ROOT, lambda prim: prim.IsA(UsdSkel.Root)),
    (SKELETON, lambda prim: prim.IsA(UsdSkel.Skeleton)),
    (CAMERA, lambda prim: prim.IsA(UsdGeom.Camera)),
    (LIGHT, is_light),
    (PLACE, lambda prim: prim.IsA(UsdGeom.Xformable)),
)
HIDDEN_PURPOSES = ("guide", "proxy")
ANIMATED, BLEND_SHAPES = "animated", "blend shapes"


def convert_usd(
    files: Mapping[str, bytes],
    name: str,
    with_data: bool,
    subdivide: int = 0,
    triangle_limit: int = 1 << 30,
) -> tuple[bytes, list[str]]:
    """Return a GLB with everything of a stage that targets can use, and warnings.

    Subdivision surfaces are refined `subdivide` times.
    """
    opened = open_stage(files, name)
    try:
        return Scene(
            opened, with_data, Levels(subdivide, triangle_limit)
        ).convert(), opened.warnings
    except FAULTS as error:
        raise damaged(files[name], name, reason_of(error)) from None


class Scene:
    """A stage while it is converted."""

    def __init__(self, opened: Opened, with_data: bool, levels: Levels) -> None:
        self._opened, self._with_data, self._levels = opened, with_data, levels
        self._glb = GlbBuilder() if with_data else OutlineBuilder()
        self._frame = Frame.of_stage(opened.stage, opened.name)
        self._materials = Materials(opened, self._glb)
        self._surfaces = Surfaces(opened, levels)
        self._meshes = Meshes(self._surfaces, self._glb, self._materials, self._frame, opened)
        self._skeletons = Skeletons(opened, self._frame)
        self._lights = Lights(opened, self._frame)
        self._roots: list[Part] = []
        self._prototypes: dict[Any, Part] = {}
        self._open_instancers: list[Any] = []
        self._ignored: Counter[str] = Counter()
        self._kinds: dict[str, str] = {}

    def convert(self) -> bytes:
        """Return the GLB."""
        for prim in self._shown_roots():
            self._tree(prim, self._roots, DEFINED)
        self._meshes.finish()
        self._roots += [rig.root for rig in self._skeletons.rigs]
        nodes, count, numbers = number_parts(self._roots)
        self._check_triangles(nodes)
        skins = self._skeletons.store(self._glb, numbers)
        document = spec.Document(
            asset=spec.Asset(version="2.0"),
            extensions_used=(TEXTURE_TRANSFORM,) if self._materials.has_transforms else (),
            scene=0,
            scenes=(spec.Scene(nodes=tuple(range(count))),),
            nodes=nodes,
            meshes=tuple(self._meshes.meshes),
            materials=tuple(self._materials.materials),
            textures=tuple(self._materials.textures),
            images=tuple(self._materials.images),
            samplers=tuple(self._materials.samplers),
            skins=skins,
            animations=convert_clips(
                self._opened, self._frame, self._skeletons, self._glb, numbers
            ),
        )
        self._opened.warnings += self._losses()
        return self._glb.finish(self._lights.scene.complete(document))

    def _check_triangles(self, nodes: Iterable[spec.Node]) -> None:
        """Refuse more triangles in all instances than refining may give."""
        triangles = self._meshes.triangles
        shown = sum(triangles[node.mesh] for node in nodes if node.mesh is not None)
        self._surfaces.check_triangles(shown, {"file": self._opened.name})

    def _shown_roots(self) -> list[Any]:
        """Return the prims to show: the default prim where there is one, else all at the root."""
        stage = self._opened.stage
        roots = list(stage.GetPseudoRoot().GetFilteredChildren(DEFINED))
        default = stage.GetDefaultPrim()
        if not default:
            return roots
        others = [one for one in roots if one != default and _has_meshes(one)]
        if others:
            names = ", ".join(f'"{one.GetName()}"' for one in others[:3])
            self._warn("ignored", f'{names} beside the default prim "{default.GetName()}"')
        return [default]

    def _tree(self, root: Any, siblings: list[Part], predicate: Any) -> None:
        """Convert a prim and what is below it, into a list of parts."""
        waiting = [(root, siblings, "default", NO_NAMES)]
        # A list instead of recursion: prims can be nested deeper than Python's calls.
        while waiting:
            prim, parts, purpose, inherited = waiting.pop()
            own = frozenset(prim.GetAuthoredPropertyNames())
            if "visibility" in own and self._value(prim, "visibility") == "invisible":
                continue
            if "purpose" in own:
                purpose = str(self._value(prim, "purpose"))
            children = prim.GetFilteredChildren(predicate)
            shown = Shown(prim, own, inherited, bool(children), self._kind(prim) == MESH)
            part = self._part(shown, purpose)
            below = parts
            if part is not None:
                (self._roots if self._is_reset(shown) else parts).append(part)
                below = part.children
            if children and self._kind(prim) != INSTANCER:
                names = inherited | {name for name in own if name.startswith("primvars:")}
                # Backwards: the last in the list is the next.
                self._find_materials(children)
                waiting += [(child, below, purpose, names) for child in reversed(children)]

    def _facts(self, prim: Any) -> dict[str, object]:
        return {"file": self._opened.name, "prim": prim.GetPath()}

    def _find_materials(self, children: list[Any]) -> None:
        meshes = [child for child in children if self._kind(child) == MESH]
        if len(meshes) > 1:
            self._materials.find_bound(meshes)

    def _value(self, prim: Any, name: str) -> Any:
        return read_value(self._opened, prim.GetAttribute(name))

    def _kind(self, prim: Any) -> str:
        """Return what a prim is to us, which its type decides."""
        name = prim.GetTypeName()
        if name not in self._kinds:
            self._kinds[name] = next((kind for kind, test in KINDS if test(prim)), "")
        return self._kinds[name]

    def _is_reset(self, shown: Shown) -> bool:
        if "xformOpOrder" not in shown.own:
            return False
        return bool(UsdGeom.Xformable(shown.prim).GetResetXformStack())

    def _part(self, shown: Shown, purpose: str) -> Part | None:
        """Return the node of a prim, None where it has no place."""
        prim, kind = shown.prim, self._kind(shown.prim)
        if kind == SKELETON_ROOT:
            self._skeletons.populate(prim)
        if kind in ("", SKELETON):
            return None
        part = Part(prim.GetName())
        is_shown = purpose not in HIDDEN_PURPOSES
        if "xformOpOrder" in shown.own:
            xformable = UsdGeom.Xformable(prim)
            local = xformable.GetLocalTransformation(self._opened.time)
            part.matrix = self._frame.matrix(local, self._facts(prim))
            if is_shown and not self._opened.time.IsDefault():
                self._ignored[ANIMATED] += xformable.TransformMightBeTimeVarying()
        if is_shown:
            self._fill(shown, kind, part)
        return part

    def _fill(self, shown: Shown, kind: str, part: Part) -> None:
        """Give a node what its prim shows."""
        if kind in (MESH, SHAPE):
            self._show(shown, part)
        elif kind == INSTANCER:
            self._instance(shown.prim, part)
        elif kind == LIGHT:
            _place_lit(part, self._lights.light(shown.prim))
        elif kind == CAMERA:
            _place_lit(part, self._lights.camera(shown.prim))
        elif kind == GPRIM:
            self._ignored[shown.prim.GetTypeName()] += 1

    def _show(self, shown: Shown, part: Part) -> None:
        """Give a node its mesh and its skin."""
        prim = shown.prim
        bound = self._skeletons.bound(prim)
        if bound is None:
            part.mesh = self._meshes.place(shown, None, None)
            return
        part.skin, query = bound
        if query.HasBlendShapes():
            self._ignored[BLEND_SHAPES] += 1
        points = read_value(self._opened, UsdGeom.PointBased(prim).GetPointsAttr()) or ()
        weights = None
        if self._with_data and len(points):
            weights = self._skeletons.weights(query, part.skin, len(points))
            part.skin = None if weights is None else part.skin
        part.mesh = self._meshes.place(shown, self._skeletons.bind_matrix(query), weights)

    def _instance(self, prim: Any, part: Part) -> None:
        """Give a point instancer a node for each instance, which shares its prototype's meshes."""
        instancer, time = UsdGeom.PointInstancer(prim), self._opened.time
        if prim.GetPath() in self._open_instancers:
            raise EncodeError("a point instancer contains itself", self._facts(prim))
        self._open_instancers.append(prim.GetPath())
        targets = instancer.GetPrototypesRel().GetForwardedTargets()
        prototypes = [self._prototype(prim.GetStage().GetPrimAtPath(path)) for path in targets]
        self._open_instancers.pop()
        kinds = np.array(read_value(self._opened, instancer.GetProtoIndicesAttr()) or (), np.int64)
        mask = instancer.ComputeMaskAtTime(time)
        placed = instancer.ComputeInstanceTransformsAtTime(
            time, time, UsdGeom.PointInstancer.ExcludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
        )
        for number, (kind, matrix) in enumerate(zip(kinds.tolist(), placed, strict=False)):
            is_shown = number >= len(mask) or mask[number]
            if is_shown and 0 <= kind < len(prototypes):
                name = f"{prim.GetName()}_{number}"
                children = list(prototypes[kind].children)
                part.children.append(
                    Part(name, self._frame.matrix(matrix, self._facts(prim)), children=children)
                )

    def _prototype(self, prim: Any) -> Part:
        """Return a part whose children are what a prototype shows."""
        if not prim:
            return Part("")
        path = prim.GetPath()
        if path not in self._prototypes:
            found = Part(prim.GetName())
            self._tree(prim, found.children, PROTOTYPE)
            self._prototypes[path] = found
        return self._prototypes[path]

    def _losses(self) -> list[str]:
        """Return warnings about what was left out, with how often."""
        found = []
        if self._levels.count and not self._surfaces.refined:
            found.append(("ignored", "`subdivide` has no effect: it has no subdivision surface"))
        losses = self._ignored + self._meshes.losses + self._surfaces.losses
        for what, count in sorted(losses.items()):
            said = TEXTS.get(what)
            if said is not None:
                found.append((said[0], said[1].format(count=count)))
            elif " of " in what:
                found.append(("damage", f"{what} do not fit the mesh; left out"))
            else:
                found.append(("feature", f"{count} of type {what}, left out"))
        return [grouped(group, f"{self._opened.name}: {text}") for group, text in found]

    def _warn(self, group: str, text: str) -> None:
        self._opened.warnings.append(grouped(group, f"{self._opened.name}: {text}"))


TEXTS = {
    SUBDIVISION: (
        "feature",
        "{count} subdivision surfaces are shown by their cages",
    ),
    ANIMATED: ("animation", "{count} moving prims stand still; only skeletons are animated"),
    BLEND_SHAPES: ("feature", "{count} meshes have blend shapes, left out"),
}


def _place_lit(part: Part, node: spec.Node | None) -> None:
    if node is not None:
        part.children.append(Part("", lit=node))


def _has_meshes(root: Any) -> bool:
    return any(prim.IsA(UsdGeom.Gprim) for prim in Usd.PrimRange(root, DEFINED))
