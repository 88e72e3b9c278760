"""The generated module in the hands of rustc, clippy and cargo, and the example firmware."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from encoders.rp2350.rust_literal import NAMED
from encoders.rp2350.rust_reader import parse_wrapper
from encoders.rp2350.rust_writer import PatchInfo, PatchWrapper, RustModule
from encoders.rp2350.texture_data import unpack_levels
from tests.encoders.rp2350_game import ball, make_game, player, png, wood
from tests.encoders.rp2350_second_reader import multiset

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "docs/examples/rp2350-firmware"
BUILD = ("cargo", "build", "--offline", "--example", "print_assets")
OUT = "build/rp2350"
pytestmark = pytest.mark.timeout(300)  # compilers take their time
PATH = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ.get("PATH", ""), str(Path.home() / ".cargo/bin")]
)


def need(tool: str) -> str:
    found = shutil.which(tool, path=PATH)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


def run(*command: str, folder: Path) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PATH": PATH, "PYTHONPATH": str(ROOT), "CARGO_TERM_COLOR": "never"}
    environment.pop("CARGO_TARGET_DIR", None)
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def game(tmp_path):
    game = make_game(tmp_path / "game")
    shutil.copytree(
        EXAMPLE, game.path("firmware"), ignore=shutil.ignore_patterns("target", "*.lock")
    )
    return game


@pytest.mark.parametrize("edition", ["2021", "2024"])
def test_module_compiles_without_std_and_without_warnings(tmp_path, edition):
    rustc = need("rustc")
    game = make_game(tmp_path / "game")
    game.doit()
    lib = game.write("lib.rs", '#![no_std]\n#![deny(warnings)]\ninclude!("build/rp2350/mod.rs");\n')
    # A binary may leave everything unused.
    program = 'mod assets {\n    include!("build/rp2350/mod.rs");\n}\nfn main() {}\n'
    sources = {lib: "lib", game.path(f"{OUT}/mod.rs"): "lib", game.write("main.rs", program): "bin"}
    for source, kind in sources.items():
        options = [f"--crate-type={kind}", f"--edition={edition}", "--emit=metadata", "-Dwarnings"]
        done = run(rustc, *options, str(source), folder=tmp_path)
        assert done.returncode == 0, done.stderr


INDEXED = """\
target = "rp2350"
[[asset]]
source = "assets/**/*"
[defaults.texture]
format = "indexed8"
[defaults.mesh]
pack = true
[[asset]]
source = "assets/textures/wood.png"
palette = "level"
"""
PROGRAM = """\
#![deny(warnings)]
include!("build/rp2350/mod.rs");
fn main() {
    let word = TEXTURES_WOOD_TEX_CFG | 1 << 24 | 512 / 512 << 32;
    println!("{:016x} {:x}", word, LEVEL_PALETTE_LOAD | 8);
    println!("{}", std::ptr::eq(TEXTURES_WOOD_PALETTE, LEVEL_PALETTE));
    println!("{:?}", TEXTURES_PLAYER_DATA);
    println!("{:?}", &TEXTURES_PLAYER_PALETTE[..512]);
    for patch in MESHES_BALL_PATCHES {
        println!("{:?} {} {}", patch.data, patch.vertex_count, patch.entry_count);
    }
}
"""


def test_indexed_textures_and_a_packed_mesh_compile_and_are_in_the_program_once(tmp_path):
    rustc = need("rustc")
    game = make_game(tmp_path / "game")
    game.write("manifests/rp2350.toml", INDEXED)
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    lib = game.write("lib.rs", '#![no_std]\n#![deny(warnings)]\ninclude!("build/rp2350/mod.rs");\n')
    options = ["--crate-type=lib", "--edition=2024", "--emit=metadata", "-Dwarnings"]
    done = run(rustc, *options, str(lib), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    main = game.write("main.rs", PROGRAM)
    done = run(rustc, "--edition=2021", "-o", "program", str(main), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    words, is_shared, indices, palette, *patches = run("./program", folder=tmp_path).stdout.split(
        "\n"
    )
    # 64x32, enabled, slot 1, base 512; the palette loads from 8 * 512.
    assert (words, is_shared) == ("0000000101005601 10008", "true")
    data = game.read(f"{OUT}/textures_player_indexed8.bin")
    assert indices == str(list(data))
    assert palette == str(list(game.read(f"{OUT}/textures_player_palette.bin")[:512]))
    blob = game.read(f"{OUT}/meshes_ball_patches.bin")
    mesh = parse_wrapper(game.read(f"{OUT}/meshes_ball.rs"), "x")
    for start, patch, line in zip(mesh.offsets, mesh.patches, patches, strict=False):
        part = list(blob[start : start + patch.size_bytes])
        assert line == f"{part} {patch.vertices} {patch.entries}"
    assert (tmp_path / "program").read_bytes().count(blob[:256]) == 1


def test_firmware_sees_the_sources_through_cargo_and_builds_again_only_for_changes(game):
    need("cargo")
    crate = game.path("firmware")
    done = run(*BUILD, folder=crate)
    assert done.returncode == 0, done.stderr
    check_program(game, wood())
    assert "Fresh firmware" in run(*BUILD, "-v", folder=crate).stderr
    image = wood()[:, ::-1].copy()
    game.write("assets/textures/wood.png", png(image))
    done = run(*BUILD, "-v", folder=crate)
    assert "Dirty firmware" in done.stderr
    check_program(game, image)
    (folder,) = crate.glob("target/debug/build/firmware-*/out/assets")
    kept = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()}
    assert "meshes_ball_patch4.bin" in kept
    game.write("assets/meshes/ball.obj", ball(4, 2))
    assert run(*BUILD, folder=crate).returncode == 0
    now = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()}
    assert "meshes_ball_patch4.bin" not in now
    assert now["textures_wood.rs"] == kept["textures_wood.rs"]


def test_the_example_runs_with_other_assets_and_the_page_has_a_program_for_them(game):
    need("cargo")
    page = (ROOT / "docs/rp2350-firmware.md").read_text()
    for name in ("textures/player.png", "textures/wood.png", "meshes/ball.obj"):
        game.remove(f"assets/{name}")
    corners = ("0 0 0", "1 0 0", "0 2 0")
    triangle = "".join(f"v {one}\n" for one in corners) + "f 1 2 3\n"
    game.write("assets/meshes/crate.obj", triangle)
    game.write("manifests/rp2350.toml", page.partition("```toml\n")[2].partition("```")[0])
    game.write("assets/textures/wall.png", png(player()))
    crate = game.path("firmware")
    done = run("cargo", "run", "--offline", folder=crate)
    assert done.returncode == 0, done.stderr
    assert (Path(done.stdout.strip()) / "mod.rs").is_file()
    (crate / "src/main.rs").write_text(page.partition("```rust\n")[2].partition("```")[0])
    done = run("cargo", "run", "--offline", folder=crate)
    assert done.returncode == 0, done.stderr
    (drawn,) = json.loads(f"[{done.stdout}]")
    assert sorted(drawn) == sorted([float(x) for x in one.split()] for one in corners)


def check_program(game, image) -> None:
    """Run the example and compare what it prints with the sources."""
    done = run(str(game.path("firmware/target/debug/examples/print_assets")), folder=game.root)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    textures = {(line[1], int(line[2])): line for line in lines if line[0] == "texture"}
    expected = player() // 16 * 17
    assert texels(textures["player", 0]).tolist() == expected.tolist()
    wrapper = parse_wrapper(game.read(f"{OUT}/textures_wood.rs"), "x")
    levels = unpack_levels(wrapper, game.read(f"{OUT}/textures_wood_bc1.bin"), "x")
    for number, level in enumerate(levels):
        assert np.array_equal(texels(textures["wood", number]), level)
    assert np.abs(levels[0].astype(int) - image).mean() < 6
    drawn = [
        tuple(tuple(float(x) for x in corner.split(",")[:3]) for corner in line[2:])
        for line in lines
        if line[0] == "triangle"
    ]
    assert near(drawn) == near(source_triangles(game.read("assets/meshes/ball.obj").decode()))


def texels(line):
    width, height = int(line[3]), int(line[4])
    return np.frombuffer(bytes.fromhex(line[5]), np.uint8).reshape(height, width, 4)


def source_triangles(obj: str):
    points = [line.split()[1:] for line in obj.splitlines() if line.startswith("v ")]
    faces = [line.split()[1:] for line in obj.splitlines() if line.startswith("f ")]
    return [
        tuple(tuple(map(float, points[int(k.split("/")[0]) - 1])) for k in face) for face in faces
    ]


def near(triangles):
    """Round to what the grid cannot blur, so that triangles can be compared with winding."""
    rounded = [
        tuple(tuple(round(x * 1000 + 0.25) for x in corner) for corner in triangle)
        for triangle in triangles
    ]
    return multiset(rounded)


def test_failed_assets_fail_the_crate_and_say_why(game):
    need("cargo")
    game.write("assets/textures/odd.png", png(np.zeros((12, 8, 4), np.uint8)))
    done = run("cargo", "build", "--offline", folder=game.path("firmware"))
    assert done.returncode != 0
    assert "texture size is not a power of two" in done.stderr
    assert "the assets could not be built" in done.stderr


def test_clippy_finds_nothing_in_the_example_or_near_its_constants(game):
    need("cargo-clippy")
    crate = game.path("firmware")
    done = run("cargo", "clippy", "--offline", "--all-targets", "--", "-Dwarnings", folder=crate)
    assert done.returncode == 0, done.stderr
    write_literals(crate / "src")
    done = run("cargo", "clippy", "--offline", "--", "-Dwarnings", folder=crate)
    assert done.returncode == 0, done.stderr


def write_literals(folder: Path) -> None:
    """Replace the library by patches whose boxes are at well-known constants, however rounded."""
    values = sorted(
        {
            float(np.float32(round(value, digits) + step * 10.0**-digits))
            for value, _ in NAMED
            for digits in range(1, 9)
            for step in (-1, 0, 1)
        }
    )
    files = []
    for number, value in enumerate(values):
        box = PatchInfo(3, 3, (-value, 0.0, 0.0), (value, 1.0, 1.0))
        wrapper = PatchWrapper("A", "a.obj", number, len(values), box)
        files.append(f"a_patch{number}.rs")
        (folder / files[-1]).write_text(wrapper.text())
        (folder / wrapper.data_file).write_bytes(bytes(51))
    text = RustModule("assets", [], files).text()
    (folder / "lib.rs").write_text("#![no_std]\n#![deny(warnings)]\n" + text)
    (folder / "main.rs").write_text("fn main() {}\n")
