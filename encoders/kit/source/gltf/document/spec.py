"""The JSON of a glTF 2.0 file as typed values, in the specification's own words.

Keys that the specification does not name are skipped; values of a wrong type are refused with
their JSON path. Whether an index points at something is checked where it is followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Literal, TypeVar

import msgspec

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document.fault import fault

Count = Annotated[int, msgspec.Meta(ge=0)]
Vec3 = tuple[float, float, float]
Vec4 = tuple[float, float, float, float]
Mat4 = Annotated[tuple[float, ...], msgspec.Meta(min_length=16, max_length=16)]
# Kept as text: only those who know an extension decode it, into a type of their own.
Extensions = dict[str, msgspec.Raw]
ComponentType = Literal[5120, 5121, 5122, 5123, 5125, 5126]
ElementType = Literal["SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4"]
Interpolation = Literal["LINEAR", "STEP", "CUBICSPLINE"]
AlphaMode = Literal["OPAQUE", "MASK", "BLEND"]

# The first primitive mode that has triangles; strips and fans follow.
TRIANGLES = 4

Item = TypeVar("Item")
Shape = TypeVar("Shape")


class Record(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What every JSON object of a glTF file may have."""

    extensions: Extensions = {}


class Named(Record, frozen=True, kw_only=True):
    """A record that may carry a name; the empty string stands for none."""

    name: str = ""


class Asset(Record, frozen=True, kw_only=True):
    """`asset`: the version of the format."""

    version: str
    min_version: str = ""
    generator: str = ""


class _Head(Record, frozen=True, kw_only=True):
    asset: Asset


class Buffer(Named, frozen=True, kw_only=True):
    """`buffers[]`: bytes in the file, beside it, or in a data URI."""

    byte_length: Count
    uri: str | None = None


class BufferView(Named, frozen=True, kw_only=True):
    """`bufferViews[]`: a slice of a buffer."""

    buffer: Count
    byte_length: Count
    byte_offset: Count = 0
    byte_stride: Count | None = None


class SparseIndices(Record, frozen=True, kw_only=True):
    """`accessor.sparse.indices`."""

    buffer_view: Count
    component_type: Literal[5121, 5123, 5125]
    byte_offset: Count = 0


class SparseValues(Record, frozen=True, kw_only=True):
    """`accessor.sparse.values`."""

    buffer_view: Count
    byte_offset: Count = 0


class Sparse(Record, frozen=True, kw_only=True):
    """`accessor.sparse`: elements that replace those of the base."""

    count: Count
    indices: SparseIndices
    values: SparseValues


class Accessor(Named, frozen=True, kw_only=True):
    """`accessors[]`: a typed array over a buffer view. Bounds may hold null for NaN."""

    component_type: ComponentType
    count: Count
    type: ElementType
    buffer_view: Count | None = None
    byte_offset: Count = 0
    normalized: bool = False
    min: tuple[float | None, ...] | None = None
    max: tuple[float | None, ...] | None = None
    sparse: Sparse | None = None


class Image(Named, frozen=True, kw_only=True):
    """`images[]`: an encoded picture, by URI or in a buffer view."""

    uri: str | None = None
    mime_type: str = ""
    buffer_view: Count | None = None


class Sampler(Named, frozen=True, kw_only=True):
    """`samplers[]`: filters and wraps as OpenGL numbers them."""

    mag_filter: int | None = None
    # Not used by any target, but checked and copied into parts of a file like the others.
    min_filter: int | None = None
    # 10497 is REPEAT.
    wrap_s: int = 10497
    wrap_t: int = 10497


class Texture(Named, frozen=True, kw_only=True):
    """`textures[]`: an image with a sampler."""

    sampler: Count | None = None
    source: Count | None = None


class TextureInfo(Record, frozen=True, kw_only=True):
    """A reference to a texture from a material."""

    index: Count
    tex_coord: Count = 0
    scale: float = 1.0
    strength: float = 1.0


class PbrMetallicRoughness(Record, frozen=True, kw_only=True):
    """`material.pbrMetallicRoughness`."""

    base_color_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    base_color_texture: TextureInfo | None = None
    metallic_factor: float = 1.0
    roughness_factor: float = 1.0
    metallic_roughness_texture: TextureInfo | None = None


class Material(Named, frozen=True, kw_only=True):
    """`materials[]`."""

    pbr_metallic_roughness: PbrMetallicRoughness = PbrMetallicRoughness()
    normal_texture: TextureInfo | None = None
    occlusion_texture: TextureInfo | None = None
    emissive_texture: TextureInfo | None = None
    emissive_factor: Vec3 = (0.0, 0.0, 0.0)
    alpha_mode: AlphaMode = "OPAQUE"
    alpha_cutoff: float = 0.5
    double_sided: bool = False


class Primitive(Record, frozen=True, kw_only=True):
    """`meshes[].primitives[]`."""

    attributes: dict[str, Count]
    indices: Count | None = None
    material: Count | None = None
    # 4 is TRIANGLES.
    mode: Annotated[int, msgspec.Meta(ge=0, le=6)] = 4
    targets: tuple[dict[str, Count], ...] = ()


class Mesh(Named, frozen=True, kw_only=True):
    """`meshes[]`."""

    primitives: tuple[Primitive, ...]
    weights: tuple[float, ...] = ()


class Node(Named, frozen=True, kw_only=True):
    """`nodes[]`: a place in the hierarchy, by matrix or by translation, rotation and scale."""

    children: tuple[Count, ...] = ()
    mesh: Count | None = None
    skin: Count | None = None
    matrix: Mat4 | None = None
    translation: Vec3 = (0.0, 0.0, 0.0)
    rotation: Vec4 = (0.0, 0.0, 0.0, 1.0)
    scale: Vec3 = (1.0, 1.0, 1.0)
    weights: tuple[float, ...] = ()


class Scene(Named, frozen=True, kw_only=True):
    """`scenes[]`."""

    nodes: tuple[Count, ...] = ()


class Skin(Named, frozen=True, kw_only=True):
    """`skins[]`."""

    joints: tuple[Count, ...]
    inverse_bind_matrices: Count | None = None
    skeleton: Count | None = None


class AnimationSampler(Record, frozen=True, kw_only=True):
    """`animations[].samplers[]`."""

    input: Count
    output: Count
    interpolation: Interpolation = "LINEAR"


class ChannelTarget(Record, frozen=True, kw_only=True):
    """`animations[].channels[].target`."""

    path: str
    node: Count | None = None


class Channel(Record, frozen=True, kw_only=True):
    """`animations[].channels[]`."""

    sampler: Count
    target: ChannelTarget


class Animation(Named, frozen=True, kw_only=True):
    """`animations[]`."""

    channels: tuple[Channel, ...]
    samplers: tuple[AnimationSampler, ...]


class Document(Record, frozen=True, kw_only=True):
    """The root object."""

    asset: Asset
    extensions_used: tuple[str, ...] = ()
    extensions_required: tuple[str, ...] = ()
    scene: Count | None = None
    scenes: tuple[Scene, ...] = ()
    nodes: tuple[Node, ...] = ()
    meshes: tuple[Mesh, ...] = ()
    skins: tuple[Skin, ...] = ()
    animations: tuple[Animation, ...] = ()
    materials: tuple[Material, ...] = ()
    textures: tuple[Texture, ...] = ()
    images: tuple[Image, ...] = ()
    samplers: tuple[Sampler, ...] = ()
    accessors: tuple[Accessor, ...] = ()
    buffer_views: tuple[BufferView, ...] = ()
    buffers: tuple[Buffer, ...] = ()


def decode_json(text: bytes | memoryview, shape: type[Shape], name: str, where: str) -> Shape:
    """Decode JSON into a typed value; `where` is what the text is, for the error."""
    try:
        return msgspec.json.decode(text, type=shape)
    # The parser recurses, so deep nesting raises RecursionError.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise fault("glTF JSON is not valid", name, where, error) from error


def decode_document(text: bytes | memoryview, name: str) -> Document:
    """Decode the JSON of a glTF 2.0 file, refusing any other major version."""
    # GLB pads its JSON with spaces, but some writers pad with NUL.
    text = bytes(text).rstrip(b"\0")
    try:
        document = decode_json(text, Document, name, "JSON")
    except EncodeError:
        # Another version has other types; that it is one says more than which type differs.
        with suppress(msgspec.DecodeError, RecursionError):
            _check_version(msgspec.json.decode(text, type=_Head).asset, name)
        raise
    _check_version(document.asset, name)
    return document


def _check_version(asset: Asset, name: str) -> None:
    # minVersion, where it is given, is what a reader must support; version is what was written.
    needed = asset.min_version or asset.version
    if needed.split(".")[0] != "2" or asset.min_version not in ("", "2.0"):
        hint = "Export the model again as glTF 2.0."
        raise fault("glTF version is not supported", name, "asset", needed, "2.0", hint)


def element(items: Sequence[Item], index: int, kind: str, name: str) -> Item:
    """Follow an index, refusing one that points at nothing."""
    # Below 0 as well: Python would count from the end.
    if 0 <= index < len(items):
        return items[index]
    allowed = f"0 to {len(items) - 1}" if items else "none, the file has no such list"
    raise fault("index points at nothing", name, kind, index, allowed)


def place(label: str, path: str) -> str:
    """Say where something is: by its name, if it has one, then by its JSON path."""
    return f'"{label}" ({path})' if label else path


def node_place(document: Document, index: int, field: str = "") -> str:
    """Say which node it is, or which field of it."""
    label = document.nodes[index].name if 0 <= index < len(document.nodes) else ""
    return place(label, f"nodes[{index}]{field}")


def triangle_count(document: Document, primitive: Primitive, name: str) -> int:
    """Count triangles by the declared counts; joining triangles of strips are counted too."""
    source = (
        primitive.attributes.get("POSITION") if primitive.indices is None else primitive.indices
    )
    if source is None or primitive.mode < TRIANGLES:
        return 0
    corners = element(document.accessors, source, "meshes[].primitives[]", name).count
    return corners // 3 if primitive.mode == TRIANGLES else max(corners - 2, 0)
