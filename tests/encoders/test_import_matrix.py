"""Options on import in every target: what each asks for comes out, and is no warning."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from PIL import Image

from encoders.kit.mesh.import_option import MESH_IMPORT
from pipeline.plan.target import load_target
from tests.fuzz.memory_build import Built, build
from tests.kit.glb_builder import Builder

GAME = '[game]\nid = "g"\ntitle = "t"\nauthor = "a"\nversion = "1"\nwasm = "assets/g.wasm"\n'
ASSET = '[[asset]]\nsource = "assets/a.glb"\n'
SCENE = '[[scene]]\nname = "s"\nsource = "assets/a.glb"\n'
MANIFESTS = {
    "emberware": f'{GAME}{ASSET}kinds = ["mesh"]\n',
    "kac": ASSET,
    "rp2350": ASSET,
    "splashpack": f"{SCENE}scale = 8\n",
    "untold": f"{SCENE}lods = []\nhlod = 0\n",
}
TARGETS = sorted(MANIFESTS)
SIDES, RINGS = 12, 5


def column(middle=(0, 0, 0), has_normals=True, flips_v=False, turns=False, side=16, **material):
    """A round column with a texture; `turns` lays it down as if z were up."""
    builder = Builder()
    ring, turn = np.meshgrid(np.arange(RINGS), np.arange(SIDES + 1), indexing="ij")
    angle = turn * (2 * math.pi / SIDES)
    # Multiples of 1/64, so that moving by whole numbers rounds nothing.
    flat = np.rint(np.stack((np.cos(angle), ring * 0.5 - 1, -np.sin(angle)), axis=-1) * 64) / 64
    normal = np.stack((np.cos(angle), 0 * angle, -np.sin(angle)), axis=-1).reshape(-1, 3)
    uv = np.stack((turn / SIDES, ring / (RINGS - 1)), axis=-1).reshape(-1, 2)
    if flips_v:
        uv = np.stack((uv[:, 0], 1 - uv[:, 1]), axis=1)
    position = flat.reshape(-1, 3) + np.array(middle)
    if turns:
        position, normal = (one[:, [0, 2, 1]] * (1, -1, 1) for one in (position, normal))
    start = (np.arange(RINGS - 1)[:, None] * (SIDES + 1) + np.arange(SIDES)).reshape(-1)
    a, b = start, start + SIDES + 1
    corner = np.stack((a, a + 1, b, b, a + 1, b + 1), axis=1).reshape(-1)
    attributes = {
        "POSITION": builder.accessor(position, bounds=True),
        "TEXCOORD_0": builder.accessor(uv),
    }
    if has_normals:
        attributes["NORMAL"] = builder.accessor(normal)
    builder.mesh(attributes, indices=builder.accessor(corner, "u2"), material=0)
    builder.add("nodes", name="column", mesh=0)
    builder.add("scenes", nodes=[0])
    builder.add("images", bufferView=builder.view(picture(side)), mimeType="image/png")
    builder.add("textures", source=0)
    texture = {"baseColorTexture": {"index": 0}}
    builder.add("materials", name="wood", pbrMetallicRoughness=texture, **material)
    return builder.glb()


def picture(side: int) -> bytes:
    """A picture of a few colours, so that no palette is too small for it."""
    stream = io.BytesIO()
    pixels = np.zeros((side, side, 3), np.uint8)
    pixels[: side // 2] = (255, 0, 0)
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def built(target: str, model: bytes, options: str = "", tables: str = "") -> Built:
    sources = {"assets/a.glb": model, "assets/g.wasm": b"\0asm\1\0\0\0"}
    found = build(target, sources, f"{MANIFESTS[target]}{options}\n{tables}")
    assert not found.errors
    return found


def files(target: str, model: bytes, options: str = "", tables: str = "") -> dict[str, bytes]:
    """Build without a warning; return what a target makes of the model."""
    found = built(target, model, options, tables)
    # That a ROM has no texture of the picture inside of the model is none of the options' business.
    assert not [one for one in found.warnings if "no texture of the picture" not in str(one)]
    return found.files


@pytest.mark.parametrize("target", TARGETS)
def test_a_column_that_lies_in_z_is_set_up(target):
    assert files(target, column(turns=True), 'up = "z"') == files(target, column())
    assert files(target, column(turns=True)) != files(target, column())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("pivot", "place"),
    [('"center"', (0, 0, 0)), ('"bottom"', (0, 1, 0)), ("[1, 2, 3]", (3, 6, 9))],
)
def test_the_pivot_becomes_the_origin(target, pivot, place):
    moved = files(target, column(middle=(4, 8, 12)), f"pivot = {pivot}")
    assert moved == files(target, column(middle=place))


@pytest.mark.parametrize("target", TARGETS)
def test_v_is_turned_over(target):
    assert files(target, column(flips_v=True), "flip_v = true") == files(target, column())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("option", ["triangles = 48", "simplify = 0.5"])
def test_fewer_triangles_make_smaller_files_without_a_warning(target, option):
    whole, less = files(target, column()), files(target, column(), option)
    assert sum(map(len, less.values())) < sum(map(len, whole.values()))


@pytest.mark.parametrize("target", TARGETS)
def test_back_sides_are_made_as_asked_without_a_warning(target):
    double, single = column(doubleSided=True), column()
    backs = files(target, single, "double_sided = true")
    fronts = files(target, single, "double_sided = false")
    assert sum(map(len, backs.values())) > sum(map(len, fronts.values()))
    assert files(target, double, "double_sided = true") == backs
    assert files(target, double, "double_sided = false") == fronts
    assert files(target, single, 'double_sided = "source"') == fronts
    if target != "untold":  # its format has no such word, and the default only warns
        assert files(target, double, 'double_sided = "source"') == backs


@pytest.mark.parametrize("target", TARGETS)
def test_shading_makes_normals_that_the_model_lacks_or_has(target):
    bare, full = column(has_normals=False), column()
    form = 'vertex_format = "POS_UV_NORMAL"\n' if target == "emberware" else ""
    shaded = {
        shading: files(target, bare, f'{form}shading = "{shading}"')
        for shading in ("smooth", "flat", "angle")
    }
    assert shaded["smooth"] == shaded["angle"]  # twelve sides are round
    assert shaded["smooth"] != shaded["flat"]
    # glTF: without normals, flat ones.
    assert built(target, bare, form).files == shaded["flat"]
    for shading, expected in shaded.items():
        assert files(target, full, f'{form}shading = "{shading}"') == expected


PICTURES = {
    "kac": ("{option}", ""),
    "splashpack": ("", '[[texture]]\nmatch = "*"\n{option}'),
    "untold": ("{option}", ""),
}


@pytest.mark.parametrize("target", sorted(PICTURES))
@pytest.mark.parametrize(
    ("side", "option", "expected"),
    [(64, "max_size = 16", 16), (60, 'scale_to = "power_of_two"', 64)],
)
def test_pictures_inside_of_models_are_scaled_without_a_warning(target, side, option, expected):
    options, tables = (one.replace("{option}", option) for one in PICTURES[target])
    scaled = files(target, column(side=side), options, tables)
    plain = files(target, column(side=expected))
    assert {name: len(data) for name, data in scaled.items() if "Textures" not in name} == {
        name: len(data) for name, data in plain.items() if "Textures" not in name
    }
    for name, data in scaled.items():
        if "Textures" in name:
            assert Image.open(io.BytesIO(data)).size == (expected, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_the_options_of_meshes(target):
    kinds = load_target(target).kinds
    options = (kinds.get("mesh") or kinds["scene"]).options
    assert {*MESH_IMPORT, "flip_v", "double_sided", "shading"} <= options.keys()
    # Nothing is left of a mesh at 0.
    assert not options["simplify"].rule.allows(0)
    assert options["simplify"].rule.allows(0.5)
