"""What `doit inspect` shows of the three files of version 20, and their exports."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Any

import numpy as np

from encoders.kit.audio.adpcm import BLOCK_BYTES, BLOCK_SAMPLES, decode_adpcm
from encoders.kit.audio.wav_writer import encode_wav
from encoders.kit.error import EncodeError
from encoders.kit.plan import Siblings
from encoders.splashpack.format import COLORS
from encoders.splashpack.v20.format import Scene20, is_untextured
from encoders.splashpack.v20.reader import unpack_scene
from encoders.splashpack.v20.spu_file import SPU_BYTES, Clip, unpack_spu
from encoders.splashpack.v20.vram_file import VramFile, unpack_vram_file
from encoders.splashpack.view import (
    FONT,
    FRAMEBUFFERS,
    draw_pages,
    warn_of_areas,
    warn_of_matrices,
    write_obj,
)
from encoders.splashpack.vram.image import build_vram, draw_vram


def decode_scene(data: bytes, name: str, siblings: Siblings) -> dict[str, Any]:
    """Describe a `.splashpack`; refuse it if the files beside it are not of the same scene."""
    scene = unpack_scene(data, name)
    missing = []
    for suffix, check in ((".vram", _check_vram), (".spu", _check_spu)):
        beside = siblings(_beside(name, suffix))
        if beside is None:
            missing.append(f"there is no {_beside(name, suffix)} beside it to compare it with")
        else:
            check(scene, beside, _beside(name, suffix))
    return {
        "format": "SPLASHPACK version 20",
        "bytes": len(data),
        "objects": [_describe_object(scene, row) for row in range(len(scene.names))],
        "triangles": len(scene.triangles["depth"]),
        "untextured": int(is_untextured(scene.triangles).sum()),
        "atlases": [one._asdict() for one in scene.atlases],
        "cluts": [one._asdict() for one in scene.cluts],
        "colliders": [*scene.colliders],
        "bvh_nodes": len(scene.bvh.nodes["left"]),
        "nav": vars(scene.nav) if scene.nav else None,
        "player": vars(scene.player),
        "fog": vars(scene.fog),
        "sounds": [{**one._asdict(), "name": _text(one.name)} for one in scene.clips],
        "script": _text(scene.script),
        "warnings": [*_warnings(scene), *missing],
        "mesh": {key: np.asarray(column).tolist() for key, column in scene.triangles.items()},
    }


def _describe_object(scene: Scene20, row: int) -> dict[str, Any]:
    return {
        "name": _text(scene.names[row]),
        "position": scene.position[row].tolist(),
        "rotation": scene.rotation[row].tolist(),
        "triangles": int(scene.triangle_count[row]),
        "bounds": scene.bounds[row].tolist(),
    }


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _beside(name: str, suffix: str) -> str:
    """Return the name of another file of the same scene."""
    return posixpath.splitext(posixpath.basename(name.replace("\\", "/")))[0] + suffix


def _warnings(scene: Scene20) -> Iterable[str]:
    atlases, cluts = ([one.area for one in some] for some in (scene.atlases, scene.cluts))
    yield from warn_of_areas(atlases, cluts)
    yield from warn_of_matrices(scene.rotation)


def _check_vram(scene: Scene20, data: bytes, name: str) -> None:
    file = unpack_vram_file(data, name)
    if (file.atlas_records(), file.clut_records()) != ([*scene.atlases], [*scene.cluts]):
        facts = {"file": name, "atlases": len(file.atlases), "CLUTs": len(file.cluts)}
        raise EncodeError("the uploads of this file are not those of the scene", facts)


def _check_spu(scene: Scene20, data: bytes, name: str) -> None:
    found = [(len(clip.data), clip.rate, clip.loop) for clip in unpack_spu(data, name)]
    if found != [(clip.size, clip.rate, clip.loop) for clip in scene.clips]:
        facts = {"file": name, "clips": len(found)}
        raise EncodeError("the sounds of this file are not those of the scene", facts)


def open_uploads(scene: Scene20, name: str, siblings: Siblings) -> VramFile:
    """Return the uploads from the `.vram` beside a scene; refuse a scene without it."""
    data, beside = siblings(_beside(name, ".vram")), _beside(name, ".vram")
    if data is None:
        facts = {"file": name, "missing": beside}
        raise EncodeError("the scene's textures are missing", facts, "Put the `.vram` beside it.")
    _check_vram(scene, data, beside)
    return unpack_vram_file(data, beside)


def extract_scene(data: bytes, name: str, siblings: Siblings) -> dict[str, bytes]:
    """Export VRAM, each texture page with each palette in use, and the script."""
    scene = unpack_scene(data, name)
    uploads = open_uploads(scene, name, siblings)
    shown = ~is_untextured(scene.triangles)
    triangles = {key: np.asarray(column)[shown] for key, column in scene.triangles.items()}
    files = {"vram.png": draw_vram(uploads, [*FRAMEBUFFERS, FONT])}
    files |= {"scene.lua": scene.script} if scene.script else {}
    return files | draw_pages(build_vram(uploads), triangles)


def export_obj(data: bytes, name: str, siblings: Siblings) -> dict[str, bytes]:
    """Export the geometry as an OBJ file, in the axes and the winding of the sources."""
    del siblings
    scene = unpack_scene(data, name)
    # An OBJ file ends a name at the end of its line.
    labels = [" ".join(_text(one).split()) or f"object_{n}" for n, one in enumerate(scene.names)]
    full = np.where(is_untextured(scene.triangles), 255, 128)[:, None, None]
    colors = np.stack([np.asarray(scene.triangles[key]) for key in COLORS], axis=1) / full
    return {"mesh.obj": write_obj(scene, labels, colors)}


def decode_vram(data: bytes, name: str) -> dict[str, Any]:
    """Describe a `.vram`."""
    file = unpack_vram_file(data, name)
    areas = [one.area for one in file.atlases], [one.area for one in file.cluts]
    return {
        "format": "SPLASHPACK version 20, uploads to VRAM",
        "bytes": len(data),
        "atlases": [one._asdict() for one in file.atlas_records()],
        "cluts": [{**c._asdict(), "palette": o.words.tolist()} for c, o in _cluts(file)],
        "warnings": [*warn_of_areas(*areas)],
    }


def _cluts(file: VramFile) -> Iterable[tuple[Any, Any]]:
    return zip(file.clut_records(), file.cluts, strict=True)


def decode_spu(data: bytes, name: str) -> dict[str, Any]:
    """Describe a `.spu`."""
    clips = unpack_spu(data, name)
    return {
        "format": "SPLASHPACK version 20, sounds",
        "bytes": len(data),
        "sound_memory": f"{sum(len(clip.data) for clip in clips):,} of {SPU_BYTES:,} bytes",
        "clips": [_describe_clip(clip) for clip in clips],
        "warnings": [],
    }


def _describe_clip(clip: Clip) -> dict[str, Any]:
    samples = len(clip.data) // BLOCK_BYTES * BLOCK_SAMPLES
    facts = {"bytes": len(clip.data), "rate": clip.rate, "loop": clip.loop}
    return {**facts, "seconds": round(samples / clip.rate, 3)}


def extract_spu(data: bytes, name: str) -> dict[str, bytes]:
    """Export each clip as a WAV file."""
    return {
        f"clip_{number}.wav": encode_wav(decode_adpcm(clip.data), clip.rate)
        for number, clip in enumerate(unpack_spu(data, name))
    }
