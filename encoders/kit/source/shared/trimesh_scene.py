"""Static models that trimesh reads (an optional extra), as GLB: PLY, STL, OFF, 3MF and COLLADA.

Triangles, normals, vertex or face colours, the first UV set and materials come through as far as
trimesh gives them. Images are named, not opened: they come as inputs of the build. trimesh and the
parsers below it run in a process of their own, as for every format that is converted.
"""

from __future__ import annotations

import io
import math
import re
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt
import trimesh

from encoders.kit.error import EncodeError
from encoders.kit.image.srgb import LINEAR_WHITE, to_linear
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.other_machine import beside_if_absolute
from encoders.kit.source.signature import describe_content

Matrix = npt.NDArray[np.float64]
# Where the name of an image is kept in the picture that stands in for it.
_FILE = "file"
_Z_TO_Y = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], np.float64)
_X_TO_Y = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], np.float64)
NOT_UTF8 = "its text is not UTF-8"
UPRIGHT = {"X": _X_TO_Y, "Y": np.eye(4), "Z": _Z_TO_Y}


class _NamedImages:
    """Answers requests for images with a pixel that remembers its name."""

    def __init__(self, *, are_uris: bool) -> None:
        self._are_uris = are_uris

    def get(self, name: str) -> bytes:
        """Return a PNG of one pixel with the name of the file inside."""
        from PIL import Image, PngImagePlugin

        text = PngImagePlugin.PngInfo()
        text.add_itxt(_FILE, _relative(unquote(name) if self._are_uris else name))
        stream = io.BytesIO()
        Image.new("RGB", (1, 1)).save(stream, "PNG", pnginfo=text)
        return stream.getvalue()

    def namespaced(self, namespace: str) -> _NamedImages:
        """Return the images of a folder; names keep the folder by themselves."""
        del namespace
        return self


def _relative(name: str) -> str:
    """Return an image's path beside the model, where the file knows that of another machine."""
    return beside_if_absolute(name.replace("\\", "/").removeprefix("file://"))


def convert_with_trimesh(
    data: bytes, name: str, form: str, file_type: str, place: Matrix | None = None
) -> bytes:
    """Return a model as GLB; `place` turns it upright and scales it to metres."""
    # COLLADA names files by URI.
    images: Any = _NamedImages(are_uris=file_type == "dae")
    try:
        scene = trimesh.load_scene(
            io.BytesIO(data), file_type=file_type, resolver=images, process=False
        )
    except MemoryError:
        raise
    # The parsers below raise whatever the first wrong byte leads to.
    except Exception as error:
        raise _damaged(data, name, form, _reason(error)) from error
    return _Converter(name, form).convert(scene, np.eye(4) if place is None else place)


def refuse_other_encodings(data: bytes, name: str, form: str) -> None:
    """Refuse a text that is not UTF-8.

    trimesh would guess its encoding where a package for that happens to be installed, and results
    must not depend on what else is.
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise _damaged(data, name, form, NOT_UTF8) from error


def _damaged(data: bytes, name: str, form: str, reason: str) -> EncodeError:
    facts = {"file": name, "reason": reason, "looks like": describe_content(data)}
    problem = f"the {form} is damaged or of an unknown kind"
    return EncodeError(problem, facts, "Export the model again.")


def _reason(error: Exception) -> str:
    """Return what a parser said, without the names of Python's exceptions."""
    # trimesh looks for a package that guesses encodings where a text is not UTF-8.
    if isinstance(error, ImportError):
        return NOT_UTF8
    return re.sub(r"\b\w*Error: ", "", str(error)) or "its parser stopped"


class _Converter:
    """What the GLB has so far; a mesh that several nodes show is stored once."""

    def __init__(self, name: str, form: str) -> None:
        self._name, self._form = name, form
        self._glb = GlbBuilder()
        self._meshes: list[spec.Mesh] = []
        self._numbers: dict[str, int] = {}
        self._materials: list[spec.Material] = []
        self._images: list[str] = []

    def convert(self, scene: Any, place: Matrix) -> bytes:
        """Return the GLB of a scene."""
        nodes = []
        # Sorted, so that the result does not depend on how trimesh keeps its graph.
        for node in sorted(scene.graph.nodes_geometry):
            matrix, geometry = scene.graph[node]
            mesh = scene.geometry[geometry]
            if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces):
                nodes.append(self._node(str(node), str(geometry), mesh, place @ matrix))
        if not nodes:
            raise EncodeError(f"the {self._form} holds no triangles", {"file": self._name})
        document = spec.Document(
            asset=spec.Asset(version="2.0"),
            nodes=tuple(nodes),
            meshes=tuple(self._meshes),
            materials=tuple(self._materials),
            textures=tuple(spec.Texture(source=number) for number in range(len(self._images))),
            images=tuple(spec.Image(uri=quote(one)) for one in self._images),
        )
        return self._glb.finish(document)

    def _node(self, name: str, geometry: str, mesh: Any, matrix: Matrix) -> spec.Node:
        if not np.isfinite(matrix).all():
            raise self._fault("a transform is not finite", name)
        if geometry not in self._numbers:
            self._numbers[geometry] = len(self._meshes)
            primitive = self._primitive(mesh, geometry)
            self._meshes.append(spec.Mesh(name=geometry, primitives=(primitive,)))
        columns = tuple(map(float, matrix.T.reshape(-1)))
        return spec.Node(name=name, mesh=self._numbers[geometry], matrix=columns)

    def _fault(self, problem: str, part: str) -> EncodeError:
        return EncodeError(problem, {"file": self._name, "part": part}, "Export the model again.")

    def _primitive(self, mesh: Any, part: str) -> spec.Primitive:
        faces, columns = np.asarray(mesh.faces, np.int64), _columns(mesh)
        if faces.min() < 0 or faces.max() >= len(mesh.vertices):
            raise self._fault("a triangle has a vertex that does not exist", part)
        if not all(np.isfinite(values).all() for values in columns.values()):
            raise self._fault("a position, normal or coordinate is not finite", part)
        corners = faces.reshape(-1)
        by_corner = {key: values[corners] for key, values in columns.items()}
        if mesh.visual.kind == "face":
            by_corner["COLOR_0"] = np.repeat(_light(mesh.visual.face_colors), 3, axis=0)
        first, indices = _weld(np.concatenate(list(by_corner.values()), axis=1))
        accessors = {
            key: self._glb.accessor(values[first], with_bounds=key == "POSITION")
            for key, values in by_corner.items()
        }
        return spec.Primitive(
            attributes=accessors,
            indices=self._glb.accessor(indices.astype("<u4")),
            material=self._material(mesh),
        )

    def _material(self, mesh: Any) -> int | None:
        if mesh.visual.kind != "texture" or mesh.visual.material is None:
            return None
        given = mesh.visual.material
        found = given if isinstance(given, trimesh.visual.material.PBRMaterial) else given.to_pbr()
        texture = self._texture(found.baseColorTexture)
        colour = _colour(found.baseColorFactor)
        surface = spec.PbrMetallicRoughness(
            # A texture stands in for the colour, as in every format that has both.
            base_color_factor=(1.0, 1.0, 1.0, colour[3]) if texture else colour,
            base_color_texture=texture,
            metallic_factor=_share(found.metallicFactor, 0.0),
            roughness_factor=_share(found.roughnessFactor, 1.0),
        )
        record = spec.Material(
            name=str(given.name or ""),
            pbr_metallic_roughness=surface,
            emissive_factor=_colour(found.emissiveFactor, black=True)[:3],
            alpha_mode="BLEND" if colour[3] < 1 else "OPAQUE",
            double_sided=bool(found.doubleSided),
        )
        if record not in self._materials:
            self._materials.append(record)
        return self._materials.index(record)

    def _texture(self, image: Any) -> spec.TextureInfo | None:
        name = getattr(image, "info", {}).get(_FILE)
        if not name:
            return None
        if str(name) not in self._images:
            self._images.append(str(name))
        return spec.TextureInfo(index=self._images.index(str(name)))


def _columns(mesh: Any) -> dict[str, npt.NDArray[np.float32]]:
    """Return the attributes of the vertices."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
        found = {"POSITION": np.asarray(mesh.vertices).astype("<f4")}
        # Only normals that the file has; trimesh would make up others.
        if "vertex_normals" in mesh._cache:
            found["NORMAL"] = np.asarray(mesh.vertex_normals).astype("<f4")
        if mesh.visual.kind == "vertex":
            found["COLOR_0"] = _light(mesh.visual.vertex_colors)
        uv = mesh.visual.uv if mesh.visual.kind == "texture" else None
        if uv is not None and len(uv) == len(mesh.vertices):
            # glTF counts v from the top.
            found["TEXCOORD_0"] = (np.array([0, 1]) + np.asarray(uv)[:, :2] * [1, -1]).astype("<f4")
    return found


def _light(colours: Any) -> npt.NDArray[np.float32]:
    """Return 8-bit colours as glTF has them: linear light, and alpha as it is."""
    codes = np.asarray(colours, np.uint8)
    found = codes / np.float64(255)
    found[:, :3] = to_linear(codes[:, :3]) / np.float64(LINEAR_WHITE)
    return found.astype("<f4")


def _weld(rows: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first corner of each distinct row, in order of first use, and every corner's."""
    packed = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, first, inverse = np.unique(packed.reshape(-1), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.reshape(-1)]


def _share(value: Any, default: float) -> float:
    number = default if value is None else float(value)
    return min(1.0, max(0.0, number)) if math.isfinite(number) else default


def _colour(value: Any, *, black: bool = False) -> tuple[float, float, float, float]:
    """Return a colour of numbers from 0 to 1; trimesh keeps bytes or numbers."""
    if value is None:
        return (0.0, 0.0, 0.0, 1.0) if black else (1.0, 1.0, 1.0, 1.0)
    array = np.asarray(value)
    scaled = array / 255 if array.dtype == np.uint8 else array.astype(np.float64)
    padded = [*map(float, scaled.reshape(-1)[:4]), *(1.0,) * 4][:4]
    red, green, blue, alpha = (_share(one, 1.0) for one in padded)
    return red, green, blue, alpha
