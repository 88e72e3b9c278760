"""What `doit inspect` shows of the console's files, and the files that it exports from them.

Decoding is also validation: every function refuses a file that the console could not load.
"""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.codec.bc5 import decode_bc5
from encoders.emberware.codec.bc7 import decode_bc7
from encoders.emberware.codec.octahedral import unpack_directions
from encoders.emberware.codec.qoa import Samples
from encoders.emberware.format.clip import CLIP_HEADER, unpack_clip
from encoders.emberware.format.mesh import MESH_HEADER, unpack_mesh
from encoders.emberware.format.rom import EWZ
from encoders.emberware.format.rom_reader import unpack_rom
from encoders.emberware.format.skeleton import MATRIX, SKELETON_HEADER, unpack_skeleton
from encoders.emberware.format.song import is_whole_module, unpack_song
from encoders.emberware.format.sound import RATE, unpack_sound
from encoders.emberware.format.texture import BC5, BC7, may_be_bc5, pack_texture, unpack_texture
from encoders.emberware.format.vertex import SKINNED, drop_tangents, format_name, unpack_vertices
from encoders.kit.error import EncodeError

SAMPLE_BYTES = 2

Fields = dict[str, Any]


def decode_clip_file(data: bytes, name: str) -> Fields:
    """Return the counts and the transforms of each frame's bones."""
    transforms = unpack_clip(data, name)
    frames, bones = transforms.rotation.shape[:2]
    return {
        "bone_count": bones,
        "frame_count": frames,
        "rotation": transforms.rotation.tolist(),
        "position": transforms.position.tolist(),
        "scale": transforms.scale.tolist(),
    }


def decode_skeleton_file(data: bytes, name: str) -> Fields:
    """Return the bone count and each matrix by rows."""
    matrices = unpack_skeleton(data, name)
    return {"bone_count": len(matrices), "inverse_bind_matrices": matrices.tolist()}


def decode_mesh_file(data: bytes, name: str) -> Fields:
    """Return counts, format, the columns of the vertices and the triangles."""
    mesh = unpack_mesh(data, name)
    form, count = mesh["format"], mesh["vertex_count"]
    columns = unpack_vertices(mesh["vertex_data"], form, count, name)
    return {
        "vertex_count": count,
        "index_count": mesh["index_count"],
        "format": form,
        "format_name": format_name(form),
        "is_skinned": bool(form & SKINNED),
        **{key: values.tolist() for key, values in columns.items()},
        "triangles": mesh["index_data"].reshape(-1, 3).tolist(),
    }


def export_obj(data: bytes, name: str) -> dict[str, bytes]:
    """Export a mesh as OBJ, with v flipped because OBJ has v = 0 at the bottom."""
    mesh = unpack_mesh(data, name)
    columns = unpack_vertices(mesh["vertex_data"], mesh["format"], mesh["vertex_count"], name)
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in columns["position"].tolist()]
    parts = ["{0}", "", ""]
    if "uv" in columns:
        lines += [f"vt {u / 65535:.9g} {1 - v / 65535:.9g}" for u, v in columns["uv"].tolist()]
        parts[1] = "{0}"
    if "normal" in columns:
        normals = unpack_directions(columns["normal"]).tolist()
        lines += [f"vn {x:.9g} {y:.9g} {z:.9g}" for x, y, z in normals]
        parts[2] = "{0}"
    corner = "/".join(parts).rstrip("/")
    for triangle in mesh["index_data"].reshape(-1, 3).tolist():
        lines.append("f " + " ".join(corner.format(index + 1) for index in triangle))
    return {"mesh.obj": "\n".join([*lines, ""]).encode()}


def decode_texture_file(data: bytes, name: str) -> Fields:
    """Return the size, the format and the number of bytes of the pixels."""
    texture = unpack_texture(data, name)
    form = texture["format"]
    if form == BC7 and may_be_bc5(name):
        form = f"{BC7} or {BC5}"
    return {**texture, "format": form, "pixels": len(texture["pixels"])}


def draw_png(pixels: bytes, width: int, height: int, name: str) -> bytes:
    """Encode RGBA8 pixels as PNG."""
    from PIL import Image

    if len(pixels) != width * height * 4:
        raise EncodeError("pixels do not fit their counts", {"file": name, "bytes": len(pixels)})
    image: npt.NDArray[np.uint8] = np.frombuffer(pixels, np.uint8).reshape(height, width, 4)
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def decode_sound_file(data: bytes, name: str) -> Fields:
    """Return the length, the peak and the decoded samples."""
    samples = unpack_sound(data, name)
    return {
        "total_samples": len(samples),
        "seconds": len(samples) / RATE,
        "peak": int(np.abs(samples.astype(np.int32)).max()),
        "samples": samples.tolist(),
    }


def extract_sound_file(data: bytes, name: str) -> dict[str, bytes]:
    """Export a sound as WAV."""
    return {"sound.wav": write_wav(unpack_sound(data, name))}


def write_wav(samples: Samples) -> bytes:
    """Encode mono samples at the console's rate as a WAV file."""
    data = samples.astype("<i2").tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, RATE * SAMPLE_BYTES, SAMPLE_BYTES, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def decode_rom_file(data: bytes, name: str) -> Fields:
    """Return the layout, counts, metadata and all content of a ROM, bytes in hexadecimal."""
    layout, value = unpack_rom(data, name)
    pack = value["data_pack"] or {}
    # Numbers of formats mean different things in different layouts.
    for texture in pack.get("textures", ()):
        texture["format"] = layout.texture_formats[texture["format"]]
    for tracker in pack.get("trackers", ()):
        tracker.update(_song(tracker))
    shown: Fields = {
        "layout": layout.name,
        "bytes": len(data),
        "code_bytes": len(value["code"]),
        "counts": {key: len(pack.get(key, ())) for key in layout.lists},
    }
    return {**shown, **_plain(value)}


def _song(tracker: Fields) -> Fields:
    """Return the decoded song of a tracker, or what is wrong with it."""
    # An older layout does not say which of the two forms a song has.
    if "format" not in tracker or is_whole_module(tracker["pattern_data"]):
        return {}
    try:
        song = unpack_song(tracker["pattern_data"], tracker["format"], tracker["id"])
    except EncodeError as error:
        return {"song_error": str(error)}
    return {"song": song}


def _plain(value: Any) -> Any:
    """Replace bytes by hexadecimal text and arrays by lists, as JSON needs it."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.hex()
    return value.tolist() if hasattr(value, "tolist") else value


def extract_rom_file(data: bytes, name: str) -> dict[str, bytes]:
    """Export everything in a ROM, assets in the formats of the loose files."""
    layout, value = unpack_rom(data, name)
    # The magic bytes are the suffix in capitals, but for the NUL of the first console.
    prefix = "ewz" if layout.magic == EWZ else layout.magic.decode().lower()
    metadata = json.dumps(_plain(value["metadata"]), indent=1, ensure_ascii=False)
    files = {"metadata.json": metadata.encode(), "game.wasm": value["code"]}
    pictures = {"thumbnail": value["thumbnail"]}
    pictures |= {f"screenshot{i}": one for i, one in enumerate(value["screenshots"])}
    files |= {f"{key}.{_suffix(one)}": one for key, one in pictures.items() if one is not None}
    for key, assets in (value["data_pack"] or {}).items():
        for asset in assets:
            if key == "textures":
                asset["format"] = layout.texture_formats[asset["format"]]
            for suffix, content in EXTRACTORS[key](asset).items():
                files[f"{key}/{_file_name(asset['id'])}.{suffix.format(prefix)}"] = content
    return files


def _suffix(picture: bytes) -> str:
    return "jpg" if picture.startswith(b"\xff\xd8") else "png"


def _file_name(asset_id: str) -> str:
    """Escape an id so that it is a valid file name everywhere and ids stay distinct."""
    return re.sub(r"[^\w .-]|^\.|[. ]$", lambda found: f"%{ord(found[0]):02X}", asset_id) or "%"


def _texture_files(asset: Fields) -> dict[str, bytes]:
    width, height, pixels = asset["width"], asset["height"], asset["data"]
    files = {"{}tex": pack_texture(width, height, pixels)}
    if not pixels:
        return files
    form = asset["format"]
    if form == "Bc5":
        pixels = decode_bc5(pixels, width, height, asset["id"]).tobytes()
    elif form != "Rgba8":
        try:
            pixels = decode_bc7(pixels, width, height, asset["id"]).tobytes()
        except EncodeError:  # the decoder is not installed: the blocks themselves have to do
            return files
    return files | {"png": draw_png(pixels, width, height, asset["id"])}


def _mesh_files(asset: Fields) -> dict[str, bytes]:
    counts = {key: asset[key] for key in ("vertex_count", "index_count")}
    data, form = drop_tangents(asset["vertex_data"], asset["format"], counts["vertex_count"])
    indices = asset["index_data"].astype("<u2").tobytes()
    return {"{}mesh": MESH_HEADER.pack(counts | {"format": form}) + data + indices}


def _skeleton_files(asset: Fields) -> dict[str, bytes]:
    rows = [[one[f"row{r}"] for r in range(3)] for one in asset["inverse_bind_matrices"]]
    count = asset["bone_count"]
    names = ("column0", "column1", "column2", "translation")
    columns = {name: [[row[c] for row in one] for one in rows] for c, name in enumerate(names)}
    return {"{}skel": SKELETON_HEADER.pack({"bone_count": count}) + MATRIX.pack(columns, count)}


def _keyframes_files(asset: Fields) -> dict[str, bytes]:
    header = {key: asset[key] for key in ("bone_count", "frame_count")}
    return {"{}anim": CLIP_HEADER.pack(header) + asset["data"]}


def _font_files(asset: Fields) -> dict[str, bytes]:
    numbers = {key: one for key, one in asset.items() if key != "atlas_data"}
    files = {"json": json.dumps(numbers, indent=1, ensure_ascii=False).encode()}
    if asset["atlas_data"]:
        size = asset["atlas_width"], asset["atlas_height"]
        files["png"] = draw_png(asset["atlas_data"], *size, asset["id"])
    return files


def _tracker_files(asset: Fields) -> dict[str, bytes]:
    """Return the song, called by whether it is a whole module or the console's own form of one."""
    data, form = asset["pattern_data"], "it" if asset.get("format") else "xm"
    # An older layout does not say which of the two forms a song has.
    is_stripped = "format" in asset and not is_whole_module(data)
    return {f"nc{form}" if is_stripped else form: data}


# Files of an asset by suffix, by the data pack's list; {} stands for the profile's suffix.
EXTRACTORS: Mapping[str, Callable[[Fields], dict[str, bytes]]] = {
    "textures": _texture_files,
    "meshes": _mesh_files,
    "skeletons": _skeleton_files,
    "keyframes": _keyframes_files,
    "fonts": _font_files,
    "sounds": lambda asset: {"wav": write_wav(asset["data"])},
    "data": lambda asset: {"bin": asset["data"]},
    "trackers": _tracker_files,
}
