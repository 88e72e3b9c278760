"""Make the sample game's sources: a village, a hero, small things, pictures and sounds.

Run `python tools/make_sample.py`. Everything follows from numbers in `tools/sample`, so running it
again gives the same files; `--into DIR` writes somewhere else than `assets/`.
"""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

from PIL import Image
from sample import hero, interface, land, music, prop, relief, sheet, sound, village
from sample.colour import Picture
from sample.gltf import Document, turn_about_y
from sample.wavefront import write_mtl, write_obj

ASSETS = Path(__file__).resolve().parent.parent / "assets"
# A module of WebAssembly that exports init, update and render, which do nothing yet.
CODE = bytes.fromhex(
    "0061736d 01000000 01 04 01600000 03 04 03000000"
    "07 1a 03 04 696e6974 0000 06 757064617465 0001 06 72656e646572 0002"
    "0a 0a 03 02000b 02000b 02000b"
)
PEOPLE = {
    "name": "Wheelwright's Green",
    "people": [
        {"name": "Ada", "home": "inn_1", "says": "The well has never been dry."},
        {"name": "Tom", "home": "windmill_1", "says": "Wind from the west, flour by noon."},
    ],
}


def make_files() -> dict[str, bytes]:
    """Return every file by its path below the folder of sources."""
    files = make_textures() | make_scenes() | make_props() | make_relief()
    files |= {f"ui/{name}.png": png(one) for name, one in interface.paint_all().items()}
    files |= {f"sounds/{name}.wav": sound.write_wav(name) for name in sound.SOUNDS}
    files["music/green.xm"] = music.write_tune()
    files["characters/hero.glb"] = hero.write_hero()
    files["code/game.wasm"] = CODE
    files["data/village.json"] = json.dumps(PEOPLE, indent=1).encode() + b"\n"
    return files


def make_textures() -> dict[str, bytes]:
    """Return the sheets that models show."""
    pictures = {
        "building": sheet.paint_building(),
        "prop": sheet.paint_prop(),
        "nature": sheet.paint_nature(),
        "flora": sheet.paint_flora(),
        "hero": hero.paint_hero(),
    }
    pictures |= {f"ground_{name}": one for name, one in land.paint_ground().items()}
    return {f"textures/{name}.png": png(one) for name, one in pictures.items()}


def make_scenes() -> dict[str, bytes]:
    """Return the village and its woods, which are a scene of their own."""
    near, far = village.place_all()
    return make_scene("village", near) | make_scene("woods", far)


def make_scene(name: str, placed: list[village.Placed]) -> dict[str, bytes]:
    """Return a scene: every model once, and a node for each place where it stands."""
    wanted = {one.model for one in placed}
    # In the order of `build_models`, so that the files do not depend on a set's order.
    models = [model for model in village.build_models() if model.name in wanted]
    names = dict.fromkeys(one.material for model in models for one in model.polygons)
    document = Document(list(names), "../textures/")
    meshes = {model.name: document.mesh(model) for model in models}
    counts: dict[str, int] = {}
    for one in placed:
        counts[one.model] = counts.get(one.model, 0) + 1
        node = document.node(
            name=f"{one.model}_{counts[one.model]}",
            mesh=meshes[one.model],
            translation=[round(value, 4) for value in one.at],
            rotation=turn_about_y(one.turn),
            scale=[one.scale] * 3,
        )
        document.root["scenes"][0]["nodes"].append(node)
    return {
        f"scenes/{name}.gltf": document.text(f"{name}.bin"),
        f"scenes/{name}.bin": bytes(document.buffer),
    }


def make_props() -> dict[str, bytes]:
    """Return small things as files of their own, all with one material."""
    files = {"props/prop.mtl": write_mtl("prop", "../textures/prop.png")}
    for build in prop.PROPS:
        model = build()
        files[f"props/{model.name}.obj"] = write_obj(model, "prop.mtl")
    return files


def make_relief() -> dict[str, bytes]:
    """Return a chest with a normal map, for consoles that light by one."""
    document = Document([prop.PROP], "../textures/")
    document.add_normal_map(prop.PROP, "chest_normal.png")
    node = document.node(name="chest", mesh=document.mesh(prop.build_chest()))
    document.root["scenes"][0]["nodes"].append(node)
    normals = relief.raise_sheet(sheet.paint_prop(), sheet.PROP)
    return {"relief/chest.glb": document.glb(), "relief/chest_normal.png": png(normals)}


def png(picture: Picture) -> bytes:
    """Return a picture as a PNG file."""
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG", optimize=True)
    return stream.getvalue()


def main() -> None:
    """Write the files that are not there, or are different."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=ASSETS)
    folder = parser.parse_args().into
    files = make_files()
    for name, data in files.items():
        path = folder / name
        # Equal files keep their times, so that the next build has nothing to read again.
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            print(path)
    print(f"{len(files)} files, {sum(map(len, files.values())):,} bytes")


if __name__ == "__main__":
    main()
