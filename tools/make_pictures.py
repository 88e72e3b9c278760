"""Draw the pictures of the target pages from the built sample: run `doit` first.

Usage: python tools/make_pictures.py [--into docs/images]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
COLORS = 64  # the village has few, and pages load sooner
PICTURES = {
    "kac": "build/kac/scenes/village.kac --eye -5,6,14 --at 0.5,1.5,-4 --size 640x360",
    "rp2350": "build/rp2350/mod.rs --size 640x400",
    "untold": "build/untold/village.json --camera iso --size 640x360",
    "splashpack": "build/splashpack20/scene_0.splashpack --camera start",
    "emberware": "build/emberware/wheelwrights-green.ewz --size 640x400",
}


def draw(line: str, path: Path) -> None:
    """Render a built file as a picture of few colours."""
    doit = [sys.executable, "-m", "doit", "inspect", *line.split(), "--render", str(path)]
    subprocess.run(doit, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    picture = Image.open(path).convert("RGB")
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "docs/images")
    folder = parser.parse_args().into.resolve()
    for name, line in PICTURES.items():
        draw(line, folder / f"{name}.png")


if __name__ == "__main__":
    main()
