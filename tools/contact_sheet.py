"""Put pictures of everything that the sample builds on one sheet, to be looked at.

Run `doit`, then `python tools/contact_sheet.py sheet.png`. Nothing is taken from the sources: all
pictures come out of the built files, through the targets' own readers. `--picture docs/sample.png`
writes a small one instead, for those who have built nothing yet.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from exhibit import (
    emberware,
    emberware_nczx,
    kac,
    rp2350,
    rp2350_indexed,
    splashpack,
    splashpack20,
    untold,
    untold_model,
)
from PIL import Image, ImageDraw
from raster import Camera, Picture, on_checks

BUILD = Path(__file__).resolve().parent.parent / "build"
EXHIBITS = {
    "kac": kac.show,
    "rp2350": rp2350.show,
    "rp2350_indexed": rp2350_indexed.show,
    "emberware": emberware.show,
    "emberware_nczx": emberware_nczx.show,
    "splashpack": splashpack.show,
    "splashpack20": splashpack20.show,
    "untold": untold.show,
    "untold_model": untold_model.show,
}
WIDTH, MARGIN, CAPTION = 1520, 8, 14  # in pixels, as all sizes here
STRIP = 120  # the height of the row of small pictures
PAPER, INK = (250, 247, 240), (40, 34, 48)


def lay_out(pictures: list[tuple[str, Picture]]) -> Image.Image:
    """Place pictures in rows, each with its title below it."""
    spots, x, y, row = [], MARGIN, MARGIN, 0
    for _, picture in pictures:
        height, width = picture.shape[:2]
        if x + width + MARGIN > WIDTH:
            x, y, row = MARGIN, y + row + CAPTION + MARGIN, 0
        spots.append((x, y))
        # At least 150, so that a title under a narrow picture does not run into the next.
        x, row = x + max(width, 150) + MARGIN, max(row, height)
    sheet = Image.new("RGB", (WIDTH, y + row + CAPTION + MARGIN), PAPER)
    pen = ImageDraw.Draw(sheet)
    for (left, top), (title, picture) in zip(spots, pictures, strict=True):
        sheet.paste(Image.fromarray(picture), (left, top))
        pen.text((left, top + picture.shape[0] + 1), title, INK)
    return sheet


def make_picture(build: Path) -> Image.Image:
    """Put one picture of each target together: the village large, the others below it."""
    pack = emberware.read_pack(build / "emberware")
    heroes = [emberware.draw_hero(pack, clip, frame, 100) for clip, frame in emberware.POSES[:2]]
    vram = np.asarray(Image.open(build / "splashpack/village.vram.png").convert("RGB"))
    sheet = on_checks(rp2350.read_texture(build / "rp2350", "textures_building"), 256)
    below = [
        Image.fromarray(splashpack.draw_scene(build / "splashpack", splashpack.VIEWS[0])),
        Image.fromarray(sheet),
        Image.fromarray(vram[:256, 320:704]),  # right of the framebuffers
        Image.fromarray(untold.draw_map(build / "untold", (300, 200))),
        Image.fromarray(np.hstack(heroes)),
        Image.fromarray(emberware_nczx.draw_chest(build / "emberware_nczx")),
    ]
    small = [one.resize((round(one.width * STRIP / one.height), STRIP)) for one in below]
    width = sum(one.width for one in small) + 4 * (len(small) - 1)
    camera = Camera((-8, 8.5, 23), (1.5, 2.3, -6), 0.78)
    large = kac.draw_village(build / "kac", camera, (width, width * 2 // 5))
    picture = Image.new("RGB", (width, large.shape[0] + STRIP + 4), PAPER)
    picture.paste(Image.fromarray(large), (0, 0))
    x = 0
    for one in small:
        picture.paste(one, (x, large.shape[0] + 4))
        x += one.width + 4
    # A palette without dithering keeps the committed PNG small.
    return picture.quantize(144, dither=Image.Dither.NONE)


def main() -> None:
    """Write the sheet, or the small picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sheet", type=Path)
    parser.add_argument("--picture", action="store_true", help="write the small picture instead")
    parser.add_argument("--build", type=Path, default=BUILD, help="where the sample was built")
    options = parser.parse_args()
    if options.picture:
        made = make_picture(options.build)
    else:
        shows = (show(options.build / name) for name, show in EXHIBITS.items())
        made = lay_out([picture for one in shows for picture in one])
    made.save(options.sheet, optimize=True)
    print(f"{options.sheet}: {made.width} x {made.height}, {options.sheet.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
