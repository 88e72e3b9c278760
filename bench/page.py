"""Measure the page of a project with thousands of small sources: to make, to make again, to open.

Run `python bench/page.py`. A game of textures and models is written, built and reported; then one
source is changed, and it is reported again. Chromium opens the page, where playwright finds one.
The goals: the page has less than 20 MB, its list is there within 2 s, and the second report costs
only what changed. A command that takes longer than ten minutes is ended, and said to be.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageDraw

ROOT = Path(__file__).resolve().parent.parent
MANIFESTS = {
    "rp2350": 'target = "rp2350"\n[[asset]]\nsource = "assets/**/*.png"\n',
    "kac": 'target = "kac"\n[[asset]]\nsource = "assets/**/*.obj"\n',
}
FOLDER_SIZE = 100  # sources in a folder
LIMIT_BYTES, LIMIT_SECONDS = 20_000_000, 2.0
PATIENCE_SECONDS = 600


def write_game(root: Path, count: int) -> None:
    """Write a game with so many sources, half of them pictures and half models."""
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, root / name)
    (root / "manifests").mkdir()
    for name, text in MANIFESTS.items():
        (root / f"manifests/{name}.toml").write_text(text)
    chance = random.Random(1)
    for number in range(count):
        folder = root / f"assets/set_{number // FOLDER_SIZE:03}"
        folder.mkdir(parents=True, exist_ok=True)
        if number % 2:
            write_model(folder / f"model_{number:05}.obj", chance)
        else:
            paint(folder / f"picture_{number:05}.png", chance)


def paint(path: Path, chance: random.Random) -> None:
    """Write a small picture that no other is like."""
    picture = Image.new("RGB", (32, 32), tuple(chance.choices(range(256), k=3)))  # type: ignore[arg-type]
    pen = ImageDraw.Draw(picture)
    for _ in range(6):
        left, top = chance.randrange(28), chance.randrange(28)
        box = (left, top, left + chance.randrange(1, 12), top + chance.randrange(1, 12))
        pen.ellipse(box, fill=tuple(chance.choices(range(256), k=3)))  # type: ignore[arg-type]
    picture.save(path)


def write_model(path: Path, chance: random.Random) -> None:
    """Write a pyramid of random size and colour."""
    wide, high = chance.uniform(0.5, 3), chance.uniform(0.5, 5)
    corners = [(-wide, 0, -wide), (wide, 0, -wide), (wide, 0, wide), (-wide, 0, wide), (0, high, 0)]
    lines = [f"v {x:.3f} {y:.3f} {z:.3f}" for x, y, z in corners]
    faces = ["f 1 5 2", "f 2 5 3", "f 3 5 4", "f 4 5 1", "f 1 2 3", "f 1 3 4"]
    path.write_text("\n".join([*lines, *faces]) + "\n")


def run(root: Path, *words: str) -> str:
    """Run doit, and return the seconds that it took, by the clock and of processors."""
    began, used = time.perf_counter(), _used_seconds()
    command = [sys.executable, "-P", "-m", "doit", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        subprocess.run(
            command,
            cwd=root,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"doit {' '.join(words)} did not end within {PATIENCE_SECONDS} s")
    return f"{time.perf_counter() - began:7.2f} s, CPU {_used_seconds() - used:7.2f} s"


def _used_seconds() -> float:
    """Return the processor's time of all commands that were run and have ended."""
    used = os.times()
    return used.children_user + used.children_system


def open_page(page: Path) -> tuple[float, float] | None:
    """Return after how many seconds a browser shows the list, and has read all of the page.

    None is for no browser.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto(page.as_uri(), wait_until="load", timeout=PATIENCE_SECONDS * 1000)
        tab.wait_for_selector("html[data-ready]")
        # The page notes when its list was there, in milliseconds since the navigation began.
        ready = float(tab.locator("html").get_attribute("data-ready") or 0) / 1000
        loaded = tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd / 1000")
        browser.close()
    return ready, float(loaded)


def main() -> int:
    """Print what was measured, and return 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", type=int, default=5000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_game(root, options.sources)
        print(f"{options.sources:,} sources")
        print(f"build          {run(root)}")
        print(f"first report   {run(root, 'report')}")
        paint(root / "assets/set_000/picture_00000.png", random.Random(2))
        print(f"build of one   {run(root)}")
        print(f"second report  {run(root, 'report')}")
        page = root / "build/report.html"
        size, opened = page.stat().st_size, open_page(page)
    print(f"page           {size / 1e6:7.2f} MB")
    if opened is None:
        print("list shown     no browser")
        return 1
    print(f"list shown     {opened[0]:7.2f} s")
    print(f"page read      {opened[1]:7.2f} s")
    return int(size > LIMIT_BYTES or opened[1] > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
