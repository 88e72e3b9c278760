from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.source.material import Sampler
from encoders.kit.source.mtl.decode import decode_maps, decode_mtl
from encoders.kit.source.mtl.survey import survey_mtl
from tests.kit.obj_maker import damaged

BARREL = b"""# wood
newmtl dark oak
Kd 0.5 .25 1
Ks 1
Ns 96.5
Ke 0 1e-1 0
map_Kd -s 2 3 1 -o .5 textures/old wood.png
map_Bump -bm 0.3 -imfchan r bump.png
newmtl glass
\tTr 0.25
illum 2
"""


def only(text: bytes):
    (material,) = decode_mtl(b"newmtl a\n" + text, "barrel.mtl")
    return material


def test_materials_keep_order_values_and_lines() -> None:
    oak, glass = decode_mtl(BARREL, "barrel.mtl")
    assert (oak.name, oak.base_color) == ("dark oak", (0.5, 0.25, 1, 1))
    assert (oak.specular, oak.shininess, oak.emissive) == ((1, 1, 1), 96.5, (0, 0.1, 0))
    assert (glass.name, glass.place) == ("glass", "line 9")
    assert (glass.rgba, glass.alpha_mode) == ((1, 1, 1, 0.75), "blend")


def test_map_keeps_its_options_its_name_with_blanks_and_its_line() -> None:
    oak, _ = decode_mtl(BARREL, "barrel.mtl")
    wood, bump = oak.textures["base_color"], oak.textures["bump"]
    assert wood.uri == "textures/old wood.png"
    assert (wood.scale, wood.offset) == ((2, 3), (0.5, 0))
    assert wood.named_in == "barrel.mtl, line 7"
    assert (bump.uri, bump.strength) == ("bump.png", 0.3)


@pytest.mark.parametrize(
    "options",
    [
        b"-blendu off",
        b"-blendv on",
        b"-boost 1.5",
        b"-cc on",
        b"-mm 0 1",
        b"-t 1 1 1",
        b"-t 1",
        b"-texres 512",
        b"-type sphere",
        b"-imfchan m",
        b"-clamp off",
        b"-bm 1 -s 1 1 1 -o 0 0 0 -t 0 0 0 -mm 0 1 -clamp off",
        b"-s 1 1",
    ],
)
@pytest.mark.parametrize("name", [b"a.png", b"my 1 tex.png", b"1.png", b"-odd.png", b"a#1.png"])
def test_options_are_never_part_of_a_file_name(options: bytes, name: bytes) -> None:
    texture = only(b"map_Kd " + options + b" " + name + b" \n").textures["base_color"]
    assert texture.uri == name.decode()
    assert texture.sampler == Sampler()


@pytest.mark.parametrize(
    "written",
    [
        rb"D:\art\old wood.png",
        b"/home/me/old wood.png",
        rb"\\server\old wood.png",
        b"D:old wood.png",
    ],
)
def test_image_of_another_machine_lies_beside_the_file(written: bytes) -> None:
    text = b"newmtl a\nmap_Kd -clamp on " + written + b"\n"
    (material,) = decode_mtl(text, "a.mtl")
    assert material.textures["base_color"].uri == "old wood.png"
    assert survey_mtl(text, "a.mtl")["refs"] == ["old wood.png"]


@pytest.mark.parametrize(
    "written", ["C:/", "/", "/art/..", "\\art\\.", "art/a:b.png", "file:///a.png"]
)
def test_path_that_names_no_file_of_another_machine_stays_as_it_is(written: str) -> None:
    texture = only(b"map_Kd " + written.encode() + b"\n").textures["base_color"]
    assert texture.uri == written


def test_clamp_on_clamps_both_ways() -> None:
    texture = only(b"map_Kd -clamp on a.png\n").textures["base_color"]
    assert texture.sampler == Sampler("clamp", "clamp")


def test_material_without_kd_has_no_colour_of_its_own_and_is_white() -> None:
    material = only(b"map_Kd a.png\n")
    assert material.base_color is None
    assert material.rgba == (1, 1, 1, 1)
    assert material.alpha_mode == "mask"


@pytest.mark.parametrize(
    ("text", "alpha"),
    [(b"d .5", 0.5), (b"Tr .25", 0.75), (b"d .5\nTr 0", 0.5), (b"Tr 0\nd -halo .5", 0.5)],
)
def test_dissolve_holds_where_transparency_is_there_too(text: bytes, alpha: float) -> None:
    assert only(text).rgba[3] == alpha


def test_keywords_in_any_case_are_known_and_others_are_skipped() -> None:
    material = only(b"KD 1 0 0\nMAP_KD a.png\nfoo bar\nKs spectral x.rfl\nKe xyz 1 1 1\n")
    assert material.rgba == (1, 0, 0, 1)
    assert material.textures["base_color"].uri == "a.png"
    assert material.specular is None


def test_statements_before_the_first_material_are_skipped() -> None:
    assert decode_mtl(b"Kd 1 1 1\nmap_Kd a.png\n", "a.mtl") == ()


@pytest.mark.parametrize("text", [b"Kd 1 nan 0", b"Kd x", b"d", b"Ns 1e999", b"d 1_0"])
def test_wrong_number_is_refused_with_its_line(text: bytes) -> None:
    with pytest.raises(EncodeError) as caught:
        only(b"# one\n" + text)
    assert (caught.value.facts["file"], caught.value.facts["line"]) == ("barrel.mtl", "3")


def test_survey_lists_every_file_once_as_written() -> None:
    text = BARREL + b"map_Kd z.png\nmap_Kd a\\b.png\nrefl -type cube_top top.png\nbump bump.png\n"
    assert survey_mtl(text, "barrel.mtl") == {
        "refs": ["a\\b.png", "bump.png", "textures/old wood.png", "top.png", "z.png"],
        "materials": ["dark oak", "glass"],
        "surfaces": [
            {
                "images": {
                    "base_color": place("textures/old wood.png", 7, "map_Kd"),
                    "bump": place("bump.png", 8, "map_Bump"),
                },
                "alpha_mode": "mask",
                "alpha_cutoff": 0.5,
                "alpha": 1.0,
            },
            {
                "images": {
                    "base_color": place("a\\b.png", 13, "map_Kd"),
                    "bump": place("bump.png", 15, "bump"),
                    "reflection": place("top.png", 14, "refl"),
                },
                "alpha_mode": "blend",
                "alpha_cutoff": 0.5,
                "alpha": 0.75,
            },
        ],
    }


def place(uri: str, line: int, keyword: str) -> dict[str, str]:
    return {"uri": uri, "place": f"line {line}", "keyword": keyword}


def test_map_of_light_alone_counts_in_full() -> None:
    assert only(b"map_Ke a.png\n").emissive == (1, 1, 1)
    assert only(b"map_Ke a.png\nKe 0 .5 0\n").emissive == (0, 0.5, 0)
    assert only(b"Kd 1 1 1\n").emissive == (0, 0, 0)


def test_surveys_import_no_numpy() -> None:
    code = (
        "import sys, encoders.kit.source.obj.survey, encoders.kit.source.mtl.survey as mtl\n"
        "mtl.survey_mtl(b'newmtl a', 'a')\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged(st.just(BARREL)))
def test_damaged_file_is_decoded_or_refused_by_name(data: bytes) -> None:
    try:
        survey = survey_mtl(data, "a.mtl")
    except EncodeError as error:
        survey = {"file": error.facts["file"]}
    assert json.dumps(survey)
    assert survey.get("file", "a.mtl") == "a.mtl"


def test_line_of_very_many_options_takes_no_time_to_speak_of() -> None:
    (texture,) = decode_maps(b"map_Kd " + b"-s 1 -o 1 " * 100_000 + b"a.png", "a.mtl")
    assert texture.uri == "a.png"
