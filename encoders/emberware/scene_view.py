"""The console's files as something to look at: meshes, textures, sounds, clips and whole ROMs.

Files do not name one another, so what belongs together is found by name: the texture of a mesh has
the mesh's id, and a clip moves the mesh whose id its own begins with. Clips are taken to be in
model space, as the console wants them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.codec.bc5 import decode_bc5, decode_either
from encoders.emberware.codec.bc7 import decode_bc7
from encoders.emberware.codec.octahedral import unpack_directions
from encoders.emberware.format.clip import CLIP_HEADER, Transforms, unpack_clip
from encoders.emberware.format.mesh import unpack_mesh
from encoders.emberware.format.rom_reader import unpack_rom
from encoders.emberware.format.skeleton import unpack_skeleton
from encoders.emberware.format.sound import RATE, unpack_sound
from encoders.emberware.format.texture import BC5, BC7, RGBA8, may_be_bc5, unpack_texture
from encoders.emberware.format.vertex import unpack_vertices
from encoders.kit.error import EncodeError
from encoders.kit.image.pixel import Rgba8
from encoders.kit.plan import Siblings
from encoders.kit.source.image import open_image
from encoders.kit.view.scene import (
    View,
    ViewClip,
    ViewMaterial,
    ViewMesh,
    ViewPicture,
    ViewScene,
    ViewSheet,
    ViewSound,
)

PLAIN = (0.82, 0.82, 0.8, 1.0)
# The size of a bone that is drawn by itself, as a share of the skeleton's extent.
BONE_SHARE = 0.02
OCTAHEDRON = np.array(
    [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], np.float64
)
FACES = np.array(
    [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
)

Fields = dict[str, Any]
Matrices = npt.NDArray[np.floating[Any]]


def view_mesh(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return a mesh, with the texture and the skeleton of its name if they lie beside it."""
    identifier, prefix = _split(name, "mesh")
    texture_file, skeleton_file = (f"{identifier}{prefix}{kind}" for kind in ("tex", "skel"))
    texture, skeleton = siblings(texture_file), siblings(skeleton_file)
    picture = None
    if texture is not None:
        picture = _loose_picture(texture, texture_file)
    binds = None if skeleton is None else _binds(unpack_skeleton(skeleton, skeleton_file))
    return _mesh_scene(unpack_mesh(data, name), name, picture, binds)


def view_texture(data: bytes, name: str, siblings: Siblings) -> ViewPicture:
    """Return a texture."""
    del siblings
    return ViewPicture(_loose_picture(data, name))


def view_sound(data: bytes, name: str, siblings: Siblings) -> ViewSound:
    """Return a sound."""
    del siblings
    return ViewSound(unpack_sound(data, name), RATE)


def view_skeleton(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return the joints of a skeleton where they were bound."""
    del siblings
    try:
        places = np.linalg.inv(_binds(unpack_skeleton(data, name)))[:, :3, 3]
    except np.linalg.LinAlgError as error:
        raise EncodeError("a matrix has no inverse", {"file": name}) from error
    return _bones(places[None])


def view_clip(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return the mesh that a clip moves, or the bones alone where no mesh is found."""
    identifier, prefix = _split(name, "anim")
    transforms = unpack_clip(data, name)
    for shorter in _shorter_names(identifier):
        files = [siblings(f"{shorter}{prefix}{kind}") for kind in ("mesh", "skel")]
        mesh, skeleton = files
        if mesh is not None and skeleton is not None:
            still = view_mesh(mesh, f"{shorter}{prefix}mesh", siblings)
            return _moved(still, transforms, identifier)
    return _bone_clip(transforms, identifier)


def _split(name: str, kind: str) -> tuple[str, str]:
    """Return the id in a file's name, and the suffix without the kind: `hero`, `.ewz`."""
    base = posixpath.basename(name).removesuffix(kind)
    identifier, dot, prefix = base.rpartition(".")
    return (identifier, dot + prefix) if dot else (base, "")


def _shorter_names(identifier: str) -> Iterator[str]:
    """Give the id, then what is left of it without its last words: a_b_c, a_b, a."""
    while identifier:
        yield identifier
        identifier = identifier.rpartition("_")[0]


def _binds(rows: Matrices) -> npt.NDArray[np.float64]:
    """Return matrices of three stored rows with their fourth, which is always 0 0 0 1."""
    found = np.tile(np.eye(4), (len(rows), 1, 1))
    found[:, :3] = rows
    return found


def _loose_picture(data: bytes, name: str) -> Rgba8:
    """Return the picture of a file, which may not say what its blocks are."""
    texture = unpack_texture(data, name)
    if texture["format"] == BC7 and may_be_bc5(name):
        return decode_either(texture["pixels"], texture["width"], texture["height"], name)
    return _picture(texture, name)


def _picture(texture: Fields, name: str) -> Rgba8:
    width, height, pixels = texture["width"], texture["height"], texture["pixels"]
    if texture["format"] == RGBA8:
        return np.frombuffer(pixels, np.uint8).reshape(height, width, 4)
    decode = decode_bc5 if texture["format"] == BC5 else decode_bc7
    return decode(pixels, width, height, name)


def _mesh_scene(
    mesh: Fields, name: str, picture: Rgba8 | None, binds: Matrices | None
) -> ViewScene:
    columns = unpack_vertices(mesh["vertex_data"], mesh["format"], mesh["vertex_count"], name)
    joints, weights = columns.get("joints"), columns.get("weights")
    # A skeleton with fewer bones belongs to another mesh.
    if binds is not None and (joints is None or int(joints.max(initial=0)) >= len(binds)):
        binds = None
    shown = ViewMesh(
        position=columns["position"].astype(np.float32),
        triangles=np.asarray(mesh["index_data"]).reshape(-1, 3),
        name=posixpath.basename(name),
        normal=unpack_directions(columns["normal"]) if "normal" in columns else None,
        uv=columns["uv"] / 65535 if "uv" in columns else None,
        color=columns["color"] / 255 if "color" in columns else None,
        joints=joints,
        weights=None if weights is None else weights / 255,
    )
    has_picture = picture is not None and shown.uv is not None
    material = ViewMaterial(
        "texture" if has_picture else "plain",
        (1.0, 1.0, 1.0, 1.0) if has_picture or shown.color is not None else PLAIN,
        picture if has_picture else None,
    )
    return ViewScene((shown,), (material,), binds)


def _clip(transforms: Transforms, name: str) -> ViewClip:
    return ViewClip(name, transforms.position, transforms.rotation, transforms.scale)


def _moved(still: ViewScene, transforms: Transforms, name: str) -> ViewScene:
    """Return a mesh with its clip, or bones alone where the two have not the same skeleton."""
    bones = transforms.rotation.shape[1]
    if still.inverse_binds is None or len(still.inverse_binds) != bones:
        return _bone_clip(transforms, name)
    return ViewScene(still.meshes, still.materials, still.inverse_binds, _clip(transforms, name))


def _bone_clip(transforms: Transforms, name: str) -> ViewScene:
    scene = _bones(transforms.position)
    bones = transforms.rotation.shape[1]
    binds = np.tile(np.eye(4), (bones, 1, 1))
    return ViewScene(scene.meshes, scene.materials, binds, _clip(transforms, name))


def _bones(places: npt.NDArray[Any]) -> ViewScene:
    """Return an octahedron for each bone, (frames, bones, 3); with several frames around zero."""
    wide = np.nan_to_num(places.astype(float), posinf=0, neginf=0)
    extent = float((wide.max(axis=(0, 1)) - wide.min(axis=(0, 1))).max())
    size = extent * BONE_SHARE or 1.0
    count = wide.shape[1]
    # In a clip the bone's matrix carries its octahedron; else it stands where the bone is.
    middles = wide[0] if len(wide) == 1 else np.zeros((count, 3))
    points = (middles[:, None] + OCTAHEDRON * size).reshape(-1, 3)
    corners = (np.arange(count)[:, None, None] * len(OCTAHEDRON) + FACES).reshape(-1, 3)
    joints = np.zeros((len(points), 4), np.uint16)
    joints[:, 0] = np.repeat(np.arange(count), len(OCTAHEDRON))
    weights = np.zeros((len(points), 4))
    weights[:, 0] = 1
    mesh = ViewMesh(points, corners, name="bones", joints=joints, weights=weights)
    return ViewScene((mesh,), (ViewMaterial("bone", (0.9, 0.75, 0.4, 1.0)),))


def view_rom(data: bytes, name: str, siblings: Siblings) -> ViewSheet:
    """Return everything in a ROM as a sheet; what cannot be seen has its title only."""
    del siblings
    layout, value = unpack_rom(data, name)
    pack = value["data_pack"] or {}
    cells: list[tuple[str, View | None]] = []
    pictures = [("thumbnail", value["thumbnail"])]
    pictures += [(f"screenshot {i}", one) for i, one in enumerate(value["screenshots"])]
    for title, picture in pictures:
        if picture is not None:
            cells.append((title, _attempt(lambda one: ViewPicture(open_image(one, name)), picture)))
    rom = _Rom(pack, layout.texture_formats)
    for key in layout.lists:
        show = rom.viewer(key)
        cells += [(f"{one['id']} ({key})", _attempt(show, one)) for one in pack.get(key, ())]
    return ViewSheet(tuple(cells))


def _attempt(function: Callable[[Any], View | None], asset: Any) -> View | None:
    """Return a view, None where this part cannot be shown: the rest of the sheet can."""
    try:
        return function(asset)
    except EncodeError:
        return None


class _Rom:
    """The assets of a ROM by id, so that they find one another."""

    def __init__(self, pack: Fields, texture_formats: tuple[str, ...]) -> None:
        self.formats = texture_formats
        self.by_id = {key: {one["id"]: one for one in found} for key, found in pack.items()}

    def viewer(self, key: str) -> Callable[[Fields], View | None]:
        """Return the function that shows assets of one of the pack's lists."""
        viewers: dict[str, Callable[[Fields], View | None]] = {
            "textures": lambda asset: ViewPicture(self._texture(asset)),
            "meshes": self._mesh,
            "skeletons": self._skeleton,
            "keyframes": self._keyframes,
            "fonts": _font,
            "sounds": lambda asset: ViewSound(np.asarray(asset["data"], np.int16), RATE),
        }
        return viewers.get(key, _nothing)

    def _texture(self, asset: Fields) -> Rgba8:
        form = self.formats[asset["format"]].lower()
        return _picture({**asset, "pixels": asset["data"], "format": form}, asset["id"])

    def _mesh(self, asset: Fields) -> ViewScene:
        texture = self.by_id.get("textures", {}).get(asset["id"])
        skeleton = self.by_id.get("skeletons", {}).get(asset["id"])
        picture = None if texture is None else self._texture(texture)
        binds = None if skeleton is None else _rom_binds(skeleton)
        return _mesh_scene(asset, asset["id"], picture, binds)

    def _skeleton(self, asset: Fields) -> ViewScene:
        try:
            return _bones(np.linalg.inv(_rom_binds(asset))[None, :, :3, 3])
        except np.linalg.LinAlgError as error:
            raise EncodeError("a matrix has no inverse", {"file": asset["id"]}) from error

    def _keyframes(self, asset: Fields) -> ViewScene:
        # A ROM keeps the counts in the record and leaves the clip's own header out.
        header = CLIP_HEADER.pack({key: asset[key] for key in ("bone_count", "frame_count")})
        transforms = unpack_clip(header + asset["data"], asset["id"])
        for shorter in _shorter_names(asset["id"]):
            mesh = self.by_id.get("meshes", {}).get(shorter)
            if mesh is not None:
                return _moved(self._mesh(mesh), transforms, asset["id"])
        return _bone_clip(transforms, asset["id"])


def _nothing(asset: Fields) -> None:
    """Show nothing: a kind of data without a picture."""
    del asset


def _rom_binds(skeleton: Fields) -> npt.NDArray[np.float64]:
    matrices = skeleton["inverse_bind_matrices"]
    return _binds(np.array([[one[f"row{row}"] for row in range(3)] for one in matrices]))


def _font(asset: Fields) -> View | None:
    if not asset["atlas_data"]:
        return None
    size = (asset["atlas_height"], asset["atlas_width"], 4)
    return ViewPicture(np.frombuffer(asset["atlas_data"], np.uint8).reshape(size))
