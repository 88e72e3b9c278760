"""A part of a glTF file as a GLB of its own: some meshes, one skin, one clip, and all nodes.

What a part holds depends only on what was asked for: accessors are numbered and stored anew, so a
change elsewhere in the file leaves the part's bytes alone. Values are copied as they are stored,
and validated when the part is decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from encoders.kit.source.gltf.data.accessor import DTYPES, SHAPES, decode_accessor
from encoders.kit.source.gltf.data.buffer import view_bytes
from encoders.kit.source.gltf.data.draco import DracoPrimitive
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.document.extension import DRACO, KNOWN, VISIBILITY, extension


@dataclass
class PartStore:
    """What a part has so far, and the new numbers of the accessors it copied."""

    gltf: Gltf
    glb: GlbBuilder = field(default_factory=GlbBuilder)
    numbers: dict[int, int] = field(default_factory=dict)

    def accessor(self, index: int, where: str) -> int:
        """Copy an accessor, once, and return its new number."""
        if index not in self.numbers:
            record = spec.element(self.gltf.document.accessors, index, where, self.gltf.name)
            # Numbered in order of use, so a part does not depend on the rest of the file.
            self.numbers[index] = len(self.glb.accessors)
            self.glb.accessors.append(self._copied(index, record))
        return self.numbers[index]

    def _copied(self, index: int, record: spec.Accessor) -> spec.Accessor:
        # Values are stored densely: sparse accessors and strides are resolved.
        view = None
        if record.buffer_view is not None or record.sparse is not None:
            view = self.glb.view(self._stored(index, record))
        return replace(record, name="", extensions={}, byte_offset=0, sparse=None, buffer_view=view)

    def _stored(self, index: int, record: spec.Accessor) -> bytes | memoryview:
        stored: bytes | memoryview | None = _dense_bytes(self.gltf, record)
        if stored is None:
            values = decode_accessor(self.gltf, index)
            # Matrices are stored column by column.
            stored = (values.transpose(0, 2, 1) if values.ndim == 3 else values).tobytes()
        self.gltf.charge(len(stored), f"accessors[{index}]")
        return stored


def _dense_bytes(gltf: Gltf, record: spec.Accessor) -> memoryview | None:
    """Return the bytes of an accessor that is stored without gaps; None if it must be decoded.

    Most are, and a scene has tens of thousands of them.
    """
    if record.buffer_view is None or record.sparse is not None or record.type.startswith("MAT"):
        return None
    data = view_bytes(gltf, record.buffer_view)
    size = SHAPES[record.type][1] * DTYPES[record.component_type].itemsize
    if gltf.document.buffer_views[record.buffer_view].byte_stride not in (None, size):
        return None
    end = record.byte_offset + size * record.count
    return data[record.byte_offset : end] if end <= len(data) else None


def write_subset(
    gltf: Gltf, meshes: Sequence[int] = (), skin: int | None = None, clip: int | None = None
) -> bytes:
    """Return these meshes, this skin and this clip, numbered from 0, with the file's nodes."""
    source, store = gltf.document, PartStore(gltf)
    document = spec.Document(
        asset=spec.Asset(version="2.0"),
        extensions_required=tuple(
            key for key in source.extensions_required if key in KNOWN and meshes
        ),
        scene=source.scene,
        scenes=source.scenes,
        nodes=_nodes(source, meshes, skin),
        meshes=tuple(
            copy_mesh(store, index, has_weights=_has_weights(source, index)) for index in meshes
        ),
        skins=() if skin is None else (_skin(store, skin),),
        animations=() if clip is None else (_clip(store, clip),),
        materials=source.materials if meshes else (),
        textures=source.textures if meshes else (),
        # Materials refer to images by number, but nobody decodes an image of a part: names only.
        images=tuple(spec.Image(name=image.name) for image in source.images) if meshes else (),
        samplers=source.samplers if meshes else (),
    )
    return store.glb.finish(document)


def _nodes(source: spec.Document, meshes: Sequence[int], skin: int | None) -> tuple[spec.Node, ...]:
    places = {index: number for number, index in enumerate(meshes)}
    return tuple(
        replace(
            node,
            extensions={key: raw for key, raw in node.extensions.items() if key == VISIBILITY},
            mesh=None if node.mesh is None else places.get(node.mesh),
            skin=0 if skin is not None and node.skin == skin and node.mesh in places else None,
        )
        for node in source.nodes
    )


def copy_mesh(store: PartStore, index: int, *, has_weights: bool) -> spec.Mesh:
    """Copy a mesh with its accessors; morph targets only where it is shown in another shape.

    `has_weights` tells that a node gives it weights of its own.
    """
    record = spec.element(store.gltf.document.meshes, index, "meshes", store.gltf.name)
    where = spec.place(record.name, f"meshes[{index}]")
    is_morphed = has_weights or any(record.weights)
    primitives = tuple(_primitive(store, one, where, is_morphed) for one in record.primitives)
    return replace(record, primitives=primitives, extensions={})


def _has_weights(document: spec.Document, mesh: int) -> bool:
    return any(any(node.weights) for node in document.nodes if node.mesh == mesh)


def _primitive(
    store: PartStore, record: spec.Primitive, where: str, is_morphed: bool
) -> spec.Primitive:
    name = store.gltf.name
    packed = extension(record, DRACO, DracoPrimitive, name, where)
    extensions: spec.Extensions = {}
    if packed is not None:
        spec.element(store.gltf.document.buffer_views, packed.buffer_view, where, name)
        # Copied as it is compressed; whoever reads the part decodes it.
        view = store.glb.view(bytes(view_bytes(store.gltf, packed.buffer_view)))
        extensions[DRACO] = msgspec.Raw(msgspec.json.encode(replace(packed, buffer_view=view)))
    attributes = {
        key: store.accessor(accessor, f"{where} {key}")
        for key, accessor in sorted(record.attributes.items())
    }
    indices = None if record.indices is None else store.accessor(record.indices, where)
    targets = tuple(
        {key: store.accessor(accessor, f"{where} {key}") for key, accessor in sorted(one.items())}
        for one in (record.targets if is_morphed else ())
    )
    return replace(
        record, attributes=attributes, indices=indices, targets=targets, extensions=extensions
    )


def _skin(store: PartStore, index: int) -> spec.Skin:
    record = spec.element(store.gltf.document.skins, index, "skins", store.gltf.name)
    where = spec.place(record.name, f"skins[{index}]")
    matrices = record.inverse_bind_matrices
    stored = None if matrices is None else store.accessor(matrices, where)
    return replace(record, inverse_bind_matrices=stored, extensions={})


def _clip(store: PartStore, index: int) -> spec.Animation:
    record = spec.element(store.gltf.document.animations, index, "animations", store.gltf.name)
    where = spec.place(record.name, f"animations[{index}]")
    samplers = tuple(
        replace(
            sampler,
            input=store.accessor(sampler.input, where),
            output=store.accessor(sampler.output, where),
            extensions={},
        )
        for sampler in record.samplers
    )
    channels = tuple(
        replace(channel, extensions={}, target=replace(channel.target, extensions={}))
        for channel in record.channels
    )
    return replace(record, samplers=samplers, channels=channels, extensions={})
