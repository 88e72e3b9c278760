"""Open a glTF file: decode its JSON, check its extensions, and build its instances."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from encoders.kit.plan import Inputs
from encoders.kit.source.gltf.data.instance_data import decode_instances
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.container import decode_container
from encoders.kit.source.gltf.document.extension import INSTANCING, check_extensions
from encoders.kit.source.gltf.document.instance import expand_instances
from encoders.kit.source.gltf.document.spec import Document, decode_document, node_place
from encoders.kit.source.gltf.document.uri import is_data_uri
from encoders.kit.source.reference import resolve_reference
from encoders.kit.warning import grouped


def decode_gltf(
    data: bytes,
    name: str,
    resources: Mapping[str, bytes] | None = None,
    *,
    with_materials: bool = True,
) -> Gltf:
    """Open a .gltf or .glb file; `resources` holds the files beside it, by URI as written.

    Without materials, extensions that change only how a surface looks are not refused.
    """
    container = decode_container(data, name)
    document = decode_document(container.json, name)
    gltf = Gltf(name, document, container.binary, resources or {})
    gltf.set_size(len(data) + sum(map(len, gltf.resources.values())))
    return _checked(gltf, with_materials)


def open_gltf(
    inputs: Inputs, source: str, *, with_materials: bool = True, also_read: Collection[str] = ()
) -> Gltf:
    """Open the file among the inputs; these are called by their paths, `source` is its own.

    `also_read` are extensions that the caller reads by itself, so that nothing is said of them.
    """
    container = decode_container(inputs[source], source)
    document = decode_document(container.json, source)
    paths = _paths_beside(document, source)
    resources = {uri: inputs[path] for uri, path in paths.items() if path in inputs}
    gltf = Gltf(source, document, container.binary, resources)
    # A file that several URIs name counts once.
    beside = {path: len(inputs[path]) for path in paths.values() if path in inputs}
    gltf.set_size(len(inputs[source]) + sum(beside.values()))
    return _checked(gltf, with_materials, also_read)


def _paths_beside(document: Document, source: str) -> dict[str, str]:
    """Return the project's path of every file that the model names, by its URI."""
    uris = [record.uri for record in document.buffers]
    uris += [record.uri for record in document.images]
    return {uri: resolve_reference(source, uri) for uri in uris if uri and not is_data_uri(uri)}


def _checked(gltf: Gltf, with_materials: bool, also_read: Collection[str] = ()) -> Gltf:
    """Refuse extensions that cannot be left out, and give every instance a node."""
    for warning in check_extensions(
        gltf.document, gltf.name, with_materials=with_materials, also_read=also_read
    ):
        gltf.warn(warning)
    for index, node in enumerate(gltf.document.nodes):
        if node.skin is not None and INSTANCING in node.extensions:
            where = node_place(gltf.document, index)
            gltf.warn(grouped("ignored", f"{where} is skinned, so its instances were ignored"))
    gltf.document = expand_instances(
        gltf.document, gltf.name, lambda *found: decode_instances(gltf, *found)
    ).document
    return gltf
