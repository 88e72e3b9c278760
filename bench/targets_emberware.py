"""Emberware measured: many clips from one GLB, and a full ROM linked and read. Run it alone."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from encoders.emberware.format.rom_reader import unpack_rom
from encoders.emberware.format.sound import pack_sound
from encoders.emberware.node_animation import encode_animation
from encoders.emberware.node_parts import encode_parts
from encoders.emberware.node_rom import encode_rom
from encoders.emberware.node_sound import encode_sound
from encoders.emberware.target import GAME
from encoders.emberware.view import write_wav
from encoders.kit.native import kernel
from encoders.kit.source.gltf.survey import survey_gltf
from tests.kit.glb_builder import Builder

CLIPS, FRAMES, BONES = 50, 60, 40
ROM_BYTES = 16 << 20
Row = tuple[str, float, float | None]  # what was measured, CPU seconds, and the goal
PATHS = {"translation": 3, "rotation": 4, "scale": 3}


def character() -> bytes:
    """A chain of bones and clips that move every part of every bone."""
    chance = np.random.default_rng(1)
    builder = Builder()
    for bone in range(BONES):
        children = {"children": [bone + 1]} if bone + 1 < BONES else {}
        builder.add("nodes", name=f"bone{bone}", translation=[0, 0.1, 0], **children)
    builder.add("skins", joints=list(range(BONES)))
    keys = builder.accessor(np.linspace(0, FRAMES / 30, 31), bounds=True)
    for clip in range(CLIPS):
        samplers, channels = [], []
        for bone in range(BONES):
            for path, width in PATHS.items():
                values = chance.normal(1, 0.1, (31, width))
                samplers.append({"input": keys, "output": builder.accessor(values)})
                target = {"node": bone, "path": path}
                channels.append({"sampler": len(samplers) - 1, "target": target})
        builder.add("animations", name=f"clip{clip}", samplers=samplers, channels=channels)
    return builder.glb()


def encode_all(data: bytes, space: str) -> int:
    """What a build does: cut the model into parts, then encode each clip from its part."""
    parts = {f"clip{n}": {"skin": 0, "clip": n} for n in range(CLIPS)}
    cut = encode_parts({"model": data}, {"source": "hero.glb", "parts": parts})
    params = {"source": "hero.glb", "frame_rate": 30, "space": space, "include_last_frame": False}
    return sum(len(encode_animation({"model": cut[role]}, params)["file"]) for role in parts)


def full_rom() -> tuple[dict[str, bytes], dict]:
    """Textures, clips and sounds that fill a ROM."""
    chance = np.random.default_rng(1)
    inputs: dict[str, bytes] = {}
    assets: dict[str, list] = {"texture": [], "animation": [], "sound": []}
    sizes = {"texture": 256 * 256 * 4, "animation": 40 * 60 * 16, "sound": 22050 * 4}
    headers = {"texture": b"\0\1\0\1", "animation": b"\x28\0\x3c\0", "sound": b""}
    left, number = ROM_BYTES - (64 << 10), 0
    while left > max(sizes.values()):
        kind = tuple(assets)[number % 3]
        body = chance.integers(0, 256, sizes[kind], np.uint8).tobytes()
        inputs[f"{kind}/{len(assets[kind]):05}"] = headers[kind] + body
        assets[kind].append({"id": f"{kind}{number}", "node": "n"})
        left, number = left - sizes[kind], number + 1
    game = {name: option.default for name, option in GAME.items()}
    game |= {"id": "t", "title": "T", "author": "A", "version": "1"}
    files = {"wasm": None, "thumbnail": None, "screenshots": []}
    params = {"profile": "ewz", "game": game, "files": files, "assets": assets}
    return dict(sorted(inputs.items())), params | {"limit": {"rom_mib": 16}}


def a_minute() -> np.ndarray:
    """A minute of chords with noise, louder and softer."""
    chance = np.random.default_rng(1)
    t = np.arange(60 * 22050) / 22050
    chord = sum(np.sin(2 * np.pi * pitch * t) for pitch in (220, 277, 330, 1760)) / 4
    swell = 0.1 + 0.9 * np.abs(np.sin(t))
    return ((chord * 0.8 + chance.normal(0, 0.05, len(t))) * swell * 30000).astype(np.int16)


def pure_sound(samples: np.ndarray) -> bytes:
    before = kernel.use_native(False)
    try:
        return pack_sound(samples)
    finally:
        kernel.use_native(before)


def best(run: Callable[[], object], times: int = 3) -> float:
    found = []
    for _ in range(times):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def sound_node(inputs: dict[str, bytes], loose_file: bool) -> dict[str, bytes]:
    params = {"source": "a.wav", "quality": "default", "loose_file": loose_file}
    return encode_sound(inputs, params)


def verdict(found: float, goal: float | None) -> str:
    if goal is None:
        return ""
    return f"{goal:>6.2f} {'reached' if found <= goal else 'MISSED'}"


def peak_bytes(run: Callable[[], object]) -> int:
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    model = character()
    inputs, params = full_rom()
    rom = encode_rom(inputs, params)["rom"]
    held = sum(map(len, inputs.values()))
    peak = held + peak_bytes(lambda: encode_rom(inputs, params))
    sound = a_minute()
    wav = {"sound": write_wav(sound)}
    what = f"{CLIPS} clips x {FRAMES} frames x {BONES} bones"
    rows: list[Row] = [
        (f"{what}, model space", best(lambda: encode_all(model, "model")), 1.5),
        (f"{what}, local space", best(lambda: encode_all(model, "local")), None),
        (f"survey of the same, {len(model):,} bytes", best(lambda: survey_gltf(model, "a")), None),
        (f"ROM of {len(rom):,} bytes linked", best(lambda: encode_rom(inputs, params)), 0.5),
        ("the same read and checked", best(lambda: unpack_rom(rom, "a")), None),
        ("60 s of sound as QOA", best(lambda: pack_sound(sound)), 0.6),
        ("one of these seconds by the reference", best(lambda: pure_sound(sound[:22050]), 1), None),
        ("the 60 s from a WAV, for ROM and loose file", best(lambda: sound_node(wav, True)), None),
        ("the same for a ROM without loose files", best(lambda: sound_node(wav, False)), None),
    ]
    print(f"{'emberware':<56} {'CPU s':>8} {'goal':>6}")
    for name, seconds, goal in rows:
        print(f"{name:<56} {seconds:>8.3f} {verdict(seconds, goal)}")
    ratio = peak / len(rom)
    name = "memory for linking, inputs included, to the ROM"
    print(f"{name:<56} {ratio:>6.2f} x {verdict(ratio, 4)}")


if __name__ == "__main__":
    main()
