"""How fast the kit turns bytes to arrays and back, beside the peers that could do it instead.

Run `python bench/kit_bytes.py`. CPU time, best of several runs; the ratio is the peer's time
over ours, so above 1 we are the faster one.
"""

from __future__ import annotations

import io
import random
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import rectpack
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from encoders.kit.audio.resample import resample
from encoders.kit.image.mip import mips_from_base, mips_from_previous
from encoders.kit.image.rectangle_packing import Item, PageKind, pack_rectangles
from encoders.kit.image.resize import resize_colour, resize_linear, resize_normals
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U16, U32, Bits
from encoders.kit.source.image import open_image

# fmt: off
MATERIAL = Layout("KAC 1.0 MATE material", 6,
    Row(0x00, "color",    Bits(U16, (("r", 4), ("g", 4), ("b", 4), ("a", 4)))),
    Row(0x02, "metadata", Bits(U32, (("texture_index", 16), ("has_texture", 1),
                                     ("has_smooth_shading", 1), ("_padding", 14)))),
)
# fmt: on
RECORDS = 100_000
Result = tuple[str, float, str, float]


def best(action: Callable[[], object], runs: int = 5) -> float:
    times = []
    for _ in range(runs):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times) * 1000


def measure_layout() -> list[Result]:
    rng = np.random.default_rng(1)
    columns = {
        name: rng.integers(0, column.mask + 1, RECORDS) for name, column in MATERIAL.columns.items()
    }
    data = MATERIAL.pack(columns, RECORDS)
    rows = list(zip(*(values.tolist() for values in columns.values()), strict=True))

    def pack_by_struct() -> bytes:
        pack = struct.Struct("<HI").pack
        return b"".join(
            pack(r | g << 4 | b << 8 | a << 12, t | h << 16 | s << 17)
            for r, g, b, a, t, h, s in rows
        )

    assert pack_by_struct() == data
    return [
        ("layout pack, 100,000 x 6 bytes", best(lambda: MATERIAL.pack(columns, RECORDS)),
         "struct loop", best(pack_by_struct, 2)),
        ("layout unpack, 100,000 x 6 bytes", best(lambda: MATERIAL.unpack(data, RECORDS)),
         "struct.iter_unpack", best(lambda: list(struct.iter_unpack("<HI", data)), 2)),
    ]  # fmt: skip


def picture(side: int) -> np.ndarray:
    y, x = np.mgrid[:side, :side] * 256 // side
    noise = np.random.default_rng(2).integers(0, 12, (side, side, 3))
    return np.clip(np.stack([x, y, x ^ y], 2) + noise, 0, 255).astype(np.uint8)


def file_of(image: np.ndarray, kind: str) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image).save(out, kind)
    return out.getvalue()


def measure_images() -> list[Result]:
    image = picture(2048)
    grey = (image[..., 0].astype(np.uint16) << 8) | image[..., 1]
    results = []
    for name, data in (
        ("PNG 2048 RGB", file_of(image, "PNG")),
        ("PNG 2048 palette", file_of(np.asarray(image[..., 0] // 16), "PNG")),
        ("PNG 2048 grey 16 bit", file_of(grey, "PNG")),
        ("JPEG 2048", file_of(image, "JPEG")),
    ):

        def by_pillow(data: bytes = data) -> np.ndarray:
            with Image.open(io.BytesIO(data)) as opened:
                return np.asarray(opened.convert("RGBA"))

        results.append(
            (name, best(lambda data=data: open_image(data, "x"), 3), "Pillow", best(by_pillow, 3))
        )
    return results


def measure_mips() -> list[Result]:
    image = np.dstack([picture(1024), np.full((1024, 1024), 255, np.uint8)])
    holes = image.copy()
    holes[::3, ::2, 3] = 0
    opened = Image.fromarray(image)

    def by_pillow() -> None:
        level = opened
        while level.width > 1:
            level = level.reduce(2)

    pillow = best(by_pillow)
    cases = {
        "mips 1024, level by level": lambda: mips_from_previous(image, 11, resize_colour),
        "mips 1024, with alpha": lambda: mips_from_previous(holes, 11, resize_colour),
        "mips 1024, linear light": lambda: mips_from_previous(image, 11, resize_linear),
        "mips 1024, normal map": lambda: mips_from_previous(image, 11, resize_normals),
        "mips 1024, from the base": lambda: mips_from_base(image, 11, resize_colour),
    }
    results = [(name, best(case, 3), "Pillow reduce", pillow) for name, case in cases.items()]
    theirs = best(lambda: opened.resize((300, 200), Image.Resampling.BOX))
    ours = best(lambda: resize_colour(image, 300, 200), 3)
    return [*results, ("resize 1024 to 300 x 200", ours, "Pillow BOX", theirs)]


def measure_sound() -> list[Result]:
    samples = np.random.default_rng(3).uniform(-1, 1, (44100 * 10, 1))

    def linear(source: int, target: int) -> np.ndarray:
        places = np.arange(len(samples) * target // source) * (source / target)
        return np.interp(places, np.arange(len(samples)), samples[:, 0])

    results = []
    for source, target in ((44100, 22050), (48000, 22050), (22050, 44100), (44101, 22050)):
        name = f"resample {len(samples)} frames, {source} to {target}"
        ours = best(lambda a=source, b=target: resample(samples, a, b), 3)
        theirs = best(lambda a=source, b=target: linear(a, b), 3)
        results.append((name, ours, "np.interp (no filter)", theirs))
    return results + measure_mp3()


def measure_mp3() -> list[Result]:
    """Decode and resample an MP3 of 60 s, beside decoding it alone."""
    try:
        import soundfile
    except (ImportError, OSError):
        return []
    from encoders.kit.audio.sound import convert_rate, mix_to_mono
    from encoders.kit.source.sound import open_sound

    rate, stream = 44_100, io.BytesIO()
    wave = np.sin(np.arange(60 * rate) / 9)[:, None] * 0.5
    soundfile.write(stream, np.repeat(wave, 2, axis=1), rate, format="MP3")
    data = stream.getvalue()
    ours = best(lambda: convert_rate(mix_to_mono(open_sound(data, "a.mp3")), 22_050), 3)
    theirs = best(lambda: soundfile.read(io.BytesIO(data)), 3)
    return [("MP3 of 60 s, stereo, decoded, mixed, to 22050", ours, "decoding alone", theirs)]


def measure_packing() -> list[Result]:
    results = []
    for low, high, count in ((4, 96, 1000), (16, 128, 200)):
        rng = random.Random(count)
        shapes = [(rng.randint(low, high), rng.randint(low, high)) for _ in range(count)]
        items = [Item(f"{index:04}", *shape) for index, shape in enumerate(shapes)]

        def by_rectpack(shapes: list[tuple[int, int]] = shapes) -> int:
            packer = rectpack.newPacker(rotation=False, pack_algo=rectpack.MaxRectsBssf)
            for index, shape in enumerate(shapes):
                packer.add_rect(*shape, index)
            packer.add_bin(256, 256, float("inf"))
            packer.pack()
            return len(packer)

        pages = pack_rectangles(items, PageKind(256, 256)).pages
        ours = best(lambda items=items: pack_rectangles(items, PageKind(256, 256)), 3)
        name = f"pack {count} rectangles: {pages} pages, rectpack {by_rectpack()}"
        results.append((name, ours, "rectpack", best(by_rectpack, 3)))
    return results


def main() -> None:
    results = measure_layout() + measure_images() + measure_mips() + measure_sound()
    results += measure_packing()
    print(f"{'what':56} {'ms':>8}  {'peer':22} {'ms':>8} {'ratio':>6}")
    for name, ours, peer, theirs in results:
        print(f"{name:56} {ours:8.1f}  {peer:22} {theirs:8.1f} {theirs / ours:6.2f}")


if __name__ == "__main__":
    main()
