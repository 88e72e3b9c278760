"""The Khronos glTF validator on a GLB of every built file that has one.

It comes from npm: `.ci/servers` installs it. Without it the test is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.view.request import ViewRequest
from pipeline.doit_plugin.command.inspect import inspect_file
from tests.pipeline.game import Game

VALIDATOR = Path(__file__).parents[2] / ".ci/tools/node_modules/gltf-validator"
HAS_VALIDATOR = bool(shutil.which("node")) and VALIDATOR.is_dir()
# Prints, by file, the code of each message that is an error or a warning.
SCRIPT = """
const [validator, folder] = process.argv.slice(1);
const { validateBytes } = require(validator);
const fs = require("fs");
(async () => {
  const found = {};
  for (const name of fs.readdirSync(folder)) {
    const bytes = new Uint8Array(fs.readFileSync(`${folder}/${name}`));
    const { issues } = await validateBytes(bytes);
    found[name] = issues.messages.filter((one) => one.severity < 2).map((one) => one.code);
  }
  console.log(JSON.stringify(found));
})();
"""


REASON = "gltf-validator is not installed; .ci/servers does it"


@pytest.mark.skipif(not HAS_VALIDATOR, reason=REASON)
def test_every_glb_of_a_built_game_is_valid(
    built: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built.root)
    for path in sorted(Path("build").rglob("*.*")):
        place = tmp_path / f"{'.'.join(path.parts)}.glb"
        try:
            inspect_file(os.fspath(path), {"glb": os.fspath(place)}, ViewRequest(), str)
        except EncodeError:  # such as a texture, which is no model
            assert path.suffix not in (".kac", ".untold", ".ewzmesh", ".ewzanim", ".splashpack")
    command = ["node", "-e", SCRIPT, os.fspath(VALIDATOR), os.fspath(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    assert len(found) > 10
    assert {name: codes for name, codes in found.items() if codes} == {}
