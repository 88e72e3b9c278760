"""A folder as an artist has it: a model from Blender and three pictures, nothing else."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from tests.kit.glb_builder import quad


def png(color: tuple[int, int, int], side: int = 16) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (side, side), color).save(stream, "PNG")
    return stream.getvalue()


def textured_glb(side: int = 16) -> bytes:
    """A square with its picture inside, as Blender's exporter writes it."""
    builder = quad()
    view = builder.view(png((200, 40, 40), side))
    builder.add("images", name="paint", mimeType="image/png", bufferView=view)
    builder.add("textures", source=0)
    builder.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder.glb()


def make_folder(root: Path, below: str = "", side: int = 16) -> Path:
    folder = root / below
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sign.glb").write_bytes(textured_glb(side))
    for name, color in (("sign", (1, 2, 3)), ("grass", (9, 99, 9)), ("sky", (9, 9, 99))):
        (folder / f"{name}.png").write_bytes(png(color))
    return root
