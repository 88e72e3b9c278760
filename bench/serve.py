"""Measure `doit serve`: how long after the save of a small picture the open page shows it.

Run `python bench/serve.py [--saves 9]`; it needs playwright and Chromium. The sample game is
copied and served, a browser opens the page, and textures are painted again and again: one of its
own, and one that shares a palette with ten others, which are all encoded again. Printed are the
seconds from the save until the build began, until it ended, until the browser had loaded the
pictures of the texture and what became of it, and until all others were drawn that changed with it.
Last comes a texture that eleven models and 70 pictures depend on. The goal: the pictures of the
first two are there within one second.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
TEXTURES = {
    "a texture of its own": "assets/own/bench.png",
    "in a palette": "assets/textures/bench.png",
    "of many models": "assets/textures/prop.png",
}
QUICK = 2  # of them have to be shown within the limit
OWN = 'target = "rp2350"\n[[asset]]\nsource = "assets/own/*.png"\n'
LIMIT_SECONDS = 1.0
# Notes when the page was told of each event, and which picture the texture's card shows when it
# has been loaded, by the clock that Python reads as well.
NOTE = """(name) => {
  const now = () => (performance.timeOrigin + performance.now()) / 1000;
  const events = new EventSource("/events");
  window.noted = {};
  events.addEventListener("building", () => { window.noted.building = now(); });
  events.addEventListener("built", (event) => {
    if (!JSON.parse(event.data).more) window.noted.done = now();
  });
  document.addEventListener("load", (event) => {
    const entry = event.target.closest?.("article, li, .entry");
    if (event.target.tagName === "IMG" && entry?.textContent.includes(name))
      window.noted.shown = now();
  }, true);
}"""


class Served:
    """A server of a copy of the sample, and the lines that it printed with their times."""

    def __init__(self, folder: Path) -> None:
        self.lines: list[tuple[float, str]] = []
        command = [sys.executable, "-P", "-m", "doit", "serve", "--port", "0"]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.time(), line))

    def wait_for(self, pattern: str, since: float = 0.0) -> tuple[float, str]:
        """Return the first line from a time on that has a pattern, and when it came."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            for when, line in list(self.lines):
                if when >= since and re.search(pattern, line):
                    return when, line
            time.sleep(0.005)
        sys.exit(f"the server did not print {pattern!r} within two minutes")

    def close(self) -> None:
        """End the server."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(timeout=20)


def copy_sample(folder: Path) -> None:
    """Copy what a game has."""
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("assets", "manifests"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "manifests/own.toml").write_text(OWN)
    for texture in TEXTURES.values():
        paint(folder / texture, 0)  # of the sample's own only the place is kept


def paint(path: Path, number: int) -> None:
    """Write another small picture."""
    path.parent.mkdir(exist_ok=True)
    color = (number * 37 % 256, number * 91 % 256, 120)
    Image.new("RGB", (64, 64), color).save(path)


def save_once(path: Path, number: int, served: Served, tab: Any) -> dict[str, float]:
    """Save a picture; return after how many seconds what happened."""
    tab.evaluate("() => { window.noted = {}; }")
    paint(path, number)
    saved = time.time()
    # The pictures of a texture may come one after the other: the last one counts.
    tab.wait_for_function("() => window.noted.shown && window.noted.done", timeout=30_000)
    noted = tab.evaluate("() => window.noted")
    ended = served.wait_for(r" s\), in all ", saved)[0]
    times = {"build began": noted["building"], "build ended": ended}
    times |= {"picture shown": noted["shown"], "all drawn": noted["done"]}
    time.sleep(2.5)  # the process for the next build gets ready
    return {name: when - saved for name, when in times.items()}


def measure(folder: Path, texture: str, saves: int) -> list[dict[str, float]]:
    """Serve a game and save a picture so many times."""
    from playwright.sync_api import sync_playwright

    served = Served(folder)
    try:
        address = served.wait_for("Serving ")[1].split()[1]
        served.wait_for("Watching")
        with sync_playwright() as driver:
            program = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
            tab = browser.new_page()
            tab.goto(address)
            tab.wait_for_selector("html[data-ready]")
            tab.fill("#search", texture)
            tab.evaluate(NOTE, texture)
            time.sleep(5)
            found = [save_once(folder / texture, n + 1, served, tab) for n in range(saves)]
            browser.close()
        return found
    finally:
        served.close()


def main() -> int:
    """Print what was measured, and return 1 where the goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--saves", type=int, default=9)
    saves = parser.parse_args().saves
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_sample(folder)
        found = {what: measure(folder, path, saves) for what, path in TEXTURES.items()}
    for what, measured in found.items():
        print(f"{what}, after the save     median    longest")
        for step in measured[0]:
            times = [one[step] for one in measured]
            print(f"  {step:<14} {statistics.median(times):8.2f} s {max(times):8.2f} s")
    quick = list(found.values())[:QUICK]
    medians = [statistics.median(one["picture shown"] for one in times) for times in quick]
    return int(max(medians) > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
