"""The texture nodes of a scene or of a model, and which textures its objects show.

This is imported whenever a build is loaded, so it must not import numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.option import chosen
from encoders.kit.plan import Asset, Family, Node, Place, Product, Source, Surveys
from encoders.untold.scene.scene_source import SceneObject, SceneSource
from encoders.untold.scene.texture_request import (
    TextureRequest,
    embedded_name,
    name_textures,
    share_textures,
)


class TexturePlan:
    """The textures of all sources; they lie in `Textures/` of the folder named like the asset.

    `source_node` names the node that gives the images inside of a source, by its number.
    """

    def __init__(
        self,
        asset: Asset,
        sources: Sequence[SceneSource],
        surveys: Surveys,
        source_node: Callable[[int], str],
    ) -> None:
        self.asset, self.sources, self.surveys = asset, sources, surveys
        self.source_node = source_node
        # A set, because asking a mapping of surveys for a damaged file raises its error.
        self.existing = set(surveys)
        # Source and number of each image inside of a source.
        self.embedded = {
            embedded_name(source.path, index): (number, index)
            for number, source in enumerate(sources)
            for index in source.embedded
        }
        requests = {
            one for source in sources for slots in source.materials for one in slots.values()
        }
        self.image_import = chosen(asset.options, IMAGE_IMPORT)
        by_slot = asset.options["textures"] == "astc" or bool(self.image_import)
        # For each request the one whose texture it gets.
        self.owners = share_textures(requests, self._picture_content, by_slot=by_slot)
        self.names = name_textures(self.owners, self._picture_label)

    def node_name(self, request: TextureRequest) -> str:
        """Name the node of a texture."""
        return f"{self.asset.name}/Textures/{self.names[request]}".replace("=", "%3D")

    def nodes(self) -> Iterable[Node]:
        """Plan a node for each texture; embedded images come from the node of their source."""
        for request in sorted(self.names):
            inputs: dict[str, Source | Product] = {}
            params: dict[str, Any] = {
                "kind": request.kind,
                "channel": request.channel,
                "image": request.image,
                "alpha": request.alpha,
                "stem": self.names[request],
                "textures": self.asset.options["textures"],
                **self.image_import,
            }
            for image in filter(None, (request.image, request.alpha)):
                inputs[image] = self._image(image)
                # The node is planned all the same: it fails with an error that names the image.
                if isinstance(inputs[image], Source) and image not in self.existing:
                    params["missing"] = [image, *self._named_in(image)]
            prefix = f"{self.asset.place}/Textures/{self.names[request]}_"
            # Which of the two it is depends on the image's content, not on its name.
            suffixes = ("utex",) if self.asset.options["textures"] == "astc" else ("png", "jpg")
            outputs: dict[str, Place] = {
                suffix: Family(prefix, f".{suffix}", hashed=True) for suffix in suffixes
            }
            outputs["facts"] = None
            encoder = "encoders.untold.node_texture:encode_texture"
            yield Node(self.node_name(request), encoder, inputs, params, outputs)

    def _image(self, image: str) -> Source | Product:
        if image not in self.embedded:
            return Source(image)
        number, index = self.embedded[image]
        return Product(self.source_node(number), f"image_{index}")

    def _picture_content(self, image: str) -> str:
        """Return the digest of an image's content, or its name where that is not known."""
        try:
            survey = self._inner_image(image) if image in self.embedded else self.surveys[image]
        # A file that is missing or damaged has no survey; its node says what is wrong.
        except (KeyError, EncodeError):
            return image
        return str(survey.get("digest", image))

    def _inner_image(self, image: str) -> Any:
        """Return what the survey of its source says of an embedded image."""
        number, index = self.embedded[image]
        images: Any = self.surveys[self.sources[number].path]["images"]
        return images[index]

    def _picture_label(self, image: str) -> str:
        return str(self._inner_image(image)["name"] or "")

    def _named_in(self, image: str) -> tuple[str, str, str, str]:
        for source in self.sources:
            if image in source.named_in:
                return (source.path, *source.named_in[image])
        return ("", "", "", "")

    def shared(self, objects: Iterable[SceneObject]) -> dict[str, Any]:
        """Return the keys of textures that others stand in for, with the keys of these."""
        return {
            request.key: self.owners[request].key
            for request in self._requests_of(objects)
            if self.owners[request] != request
        }

    def facts_of(self, objects: Iterable[SceneObject]) -> dict[str, Product]:
        """Return the facts about the textures that objects show, by the textures' keys."""
        owners = sorted({self.owners[one] for one in self._requests_of(objects)})
        return {one.key: Product(self.node_name(one), "facts") for one in owners}

    def _requests_of(self, objects: Iterable[SceneObject]) -> list[TextureRequest]:
        found = {
            request
            for one in objects
            for material in one.materials
            if material >= 0
            for request in self.sources[one.source].materials[material].values()
        }
        return sorted(found)
