"""The sample game: its sources come from the generator, and every platform is built from them."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from encoders.untold.format.layout import VERTEX_SIZE
from encoders.untold.format.reader import unpack_untold
from tests.encoders.emberware_reader import read_rom
from tests.pipeline.game import ROOT, Game, Ran

Mesh = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]

pytestmark = pytest.mark.timeout(300)  # whole builds of the sample, beside other work

TARGETS = sorted(
    path.parent.name for path in ROOT.glob("encoders/*/__init__.py") if path.parent.name != "kit"
)
MANIFESTS = sorted(path.stem for path in ROOT.glob("manifests/*.toml"))
# One file of each target that leads to many others, or holds them.
CHIEF = (
    "build/emberware/wheelwrights-green.ewz",
    "build/emberware_nczx/wheelwrights-green.nczx",
    "build/kac/scenes/village.kac",
    "build/rp2350/mod.rs",
    "build/rp2350_indexed/mod.rs",
    "build/splashpack/village.splashpack",
    "build/splashpack20/scene_0.splashpack",
    "build/untold/village.json",
    "build/untold_model/hero.untold",
    "build/untold_model/hero_walk.untoldanim",
    "build/untold_model/trip.untoldpack",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Game, Ran]:
    """The sample in a folder of its own, built once with two workers."""
    game = Game(tmp_path_factory.mktemp("sample"))
    for name in ("manifests", "encoders"):
        game.remove(name)
    for name in ("manifests", "assets"):
        shutil.copytree(ROOT / name, game.path(name))
    return game, game.process("-n", "2")


def run_tool(name: str, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "tools" / name), *arguments]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=280)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def content_of(name: str, data: bytes) -> object:
    """What a file says: compressors differ between machines, so a picture is its pixels."""
    if not name.endswith(".png"):
        return data
    picture = Image.open(io.BytesIO(data))
    return picture.mode, picture.size, picture.tobytes()


def test_the_committed_sources_are_what_the_generator_makes(tmp_path: Path) -> None:
    run_tool("make_sample.py", "--into", str(tmp_path))
    made, committed = files_below(tmp_path), files_below(ROOT / "assets")
    assert sorted(made) == sorted(committed)
    different = [
        name
        for name, data in made.items()
        if content_of(name, data) != content_of(name, committed[name])
    ]
    assert different == []


def test_the_sources_stay_small() -> None:
    assert sum(map(len, files_below(ROOT / "assets").values())) < 4_000_000
    assert (ROOT / "docs/sample.png").stat().st_size < 150_000


def test_every_target_has_a_manifest() -> None:
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob("manifests/*.toml")]
    assert sorted({tomllib.loads(text)["target"] for text in texts}) == TARGETS


def test_every_manifest_builds_without_a_warning(built: tuple[Game, Ran]) -> None:
    game, ran = built
    assert (ran.code, ran.failed) == (0, []), ran.out + ran.err
    assert "warning" not in ran.out
    folders = {name.split("/")[1] for name in game.outputs()}
    assert sorted(folders) == MANIFESTS


def test_a_second_run_builds_nothing(built: tuple[Game, Ran]) -> None:
    game, _ = built
    ran = game.process("-n", "2")
    assert (ran.code, ran.built, ran.restored) == (0, [], [])
    assert "nothing to do" in ran.out


@pytest.mark.parametrize("name", CHIEF)
def test_what_is_built_can_be_read_again(built: tuple[Game, Ran], name: str) -> None:
    game, _ = built
    ran = game.doit("inspect", "--json", name)
    assert ran.code == 0, ran.out + ran.err
    assert not json.loads(ran.out).get("warnings")


def test_an_edit_of_one_sound_builds_that_sound_and_the_rom(built: tuple[Game, Ran]) -> None:
    game, _ = built
    before = game.read("assets/sounds/bell.wav")
    game.write("assets/sounds/bell.wav", before[:-2] + b"\0\1")
    ran = game.process()
    game.write("assets/sounds/bell.wav", before)
    assert game.process().code == 0
    assert ran.code == 0
    assert len(ran.built) == 2
    assert all(name.startswith("emberware:") for name in ran.built)


def test_the_contact_sheet_is_drawn_from_what_was_built(
    built: tuple[Game, Ran], tmp_path: Path
) -> None:
    game, _ = built
    sheet = tmp_path / "sheet.png"
    run_tool("contact_sheet.py", str(sheet), "--build", str(game.path("build")))
    with Image.open(sheet) as picture:
        assert picture.width > 1000
        assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > 1000


def test_the_rom_with_a_normal_map_has_tangents_and_bc5_blocks(built: tuple[Game, Ran]) -> None:
    game, _ = built
    rom = game.path("build/emberware_nczx/wheelwrights-green.nczx").read_bytes()
    pack = read_rom(rom, "F")["data_pack"]
    textures = {one["id"]: one for one in pack["textures"]}
    assert (textures["chest_normal"]["format"], len(textures["chest_normal"]["data"])) == (2, 16384)
    meshes = {one["id"]: one["format"] for one in pack["meshes"]}
    # Bits: 1 UV, 4 normals, 8 skin, 16 tangents.
    assert meshes == {"chest": 1 | 4 | 16, "hero": 1 | 4 | 8}


def test_the_contact_sheet_shows_every_manifest() -> None:
    text = (ROOT / "tools/contact_sheet.py").read_text(encoding="utf-8")
    assert [one for one in MANIFESTS if f'    "{one}": {one}.show' not in text] == []


def plane_edges(mesh: Mesh, axis: int, value: float) -> Counter[tuple[bytes, bytes]]:
    """Return how many triangles have each edge in a plane, by the bytes of its ends."""
    points, triangles = mesh
    found: Counter[tuple[bytes, bytes]] = Counter()
    for one, other in ((0, 1), (1, 2), (2, 0)):
        ends = points[triangles[:, [one, other]]]
        for start, end in ends[(ends[:, :, axis] == np.float32(value)).all(axis=1)]:
            found[start.tobytes(), end.tobytes()] += 1
    return found


def gaps(edges: Counter[tuple[bytes, bytes]], beyond: Counter[tuple[bytes, bytes]]) -> list[object]:
    """Return the edges that are open, and that no triangle beyond the plane has."""
    is_open = [edge for edge, count in edges.items() if count > edges[edge[::-1]]]
    return [edge for edge in is_open if not beyond[edge] and not beyond[edge[::-1]]]


@pytest.mark.parametrize("suffix", ["", "_lod1", "_lod2", "_hlod"])
def test_the_tiles_of_the_village_meet_at_equal_edges(built: tuple[Game, Ran], suffix: str) -> None:
    game, _ = built
    folder = game.path("build/untold/village")
    tiles = {}
    for path in folder.glob(f"tile_*_*_*{suffix}.untold"):
        words = path.stem.removesuffix(suffix).split("_")
        if len(words) == 4:
            tiles[int(words[1]), int(words[3])] = tile_mesh(path.read_bytes())
    count = 0
    for (x, z), mesh in tiles.items():
        # Tile z counts along -Z.
        for axis, near, value in ((0, (x + 1, z), 16 * (x + 1)), (2, (x, z + 1), -16 * (z + 1))):
            if near in tiles:
                here, there = (plane_edges(one, axis, value) for one in (mesh, tiles[near]))
                assert not gaps(here, there)
                assert not gaps(there, here)
                count += len(here)
    assert count > 100


def tile_mesh(data: bytes) -> Mesh:
    """Return the positions and the triangles of a tile."""
    points, triangles, start = [], [], 0
    for mesh in unpack_untold(data, "tile").meshes:
        rows = np.frombuffer(mesh.vertices, np.uint8).reshape(-1, VERTEX_SIZE)
        points.append(rows[:, :12].copy().view("<f4"))
        triangles.append(mesh.indices.reshape(-1, 3).astype(np.int64) + start)
        start += len(rows)
    return np.concatenate(points), np.concatenate(triangles)
