"""The QOA encoder of npm's `qoa-format`, as a peer: node has to be there, and the registry."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

PACKAGE = "qoa-format@1.0.1"
SCRIPT = """
import { readFileSync } from "node:fs";
import encode from "qoa-format/encode.js";

const bytes = readFileSync("samples");
const samples = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const times = [];
for (let n = 0; n < 3; n++) {
  const before = process.cpuUsage().user;
  encode({ sampleRate: 22050, channelData: [samples] });
  times.push(process.cpuUsage().user - before);
}
console.log(Math.min(...times) / 1e6);
"""


def encode_seconds(samples: np.ndarray) -> float | None:
    """Return the CPU seconds that the package takes to encode; None where it can't be had."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "samples").write_bytes((samples / 32768).astype("<f4").tobytes())
        (Path(folder) / "encode.mjs").write_text(SCRIPT)
        words = [npm, "install", "--silent", PACKAGE]
        try:
            subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=120)
        except subprocess.SubprocessError:
            return None
        run = [node, "encode.mjs"]
        done = subprocess.run(run, cwd=folder, check=True, capture_output=True, text=True)
    return float(done.stdout)
