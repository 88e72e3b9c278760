"""`cartwright init`: first manifests that build what was found, and extras that it needs."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pipeline.cli import doctor, extra
from pipeline.cli.init import start_project
from tests.cli.new_game import png, textured_glb
from tests.kit.glb_builder import quad


def begin(root: Path, target: str, **files: bytes) -> dict[str, Any]:
    """Put files into assets/, start a project, and return its manifest."""
    (root / "assets").mkdir(parents=True)
    for name, data in files.items():
        (root / "assets" / name.replace("__", ".")).write_bytes(data)
    list(start_project(str(root), [target], None))
    return tomllib.loads((root / f"manifests/{target}.toml").read_text())


def skinned_glb() -> bytes:
    builder = quad()
    builder.add("skins", joints=[0])
    builder.json["nodes"][0]["skin"] = 0
    return builder.glb()


def test_songs_get_the_profile_that_can_hold_them(tmp_path):
    assert begin(tmp_path, "emberware", theme__xm=b"x")["profile"] == "nczx"


def test_a_first_manifest_is_for_the_console_and_the_runtime_of_today(tmp_path):
    assert begin(tmp_path / "a", "emberware", sky__png=png((1, 2, 3)))["profile"] == "nczx"
    assert begin(tmp_path / "b", "splashpack", sign__glb=textured_glb())["version"] == 20


def test_textures_share_no_palette_unless_somebody_asks_for_it(tmp_path):
    found = begin(tmp_path, "splashpack", sign__glb=textured_glb())
    assert found["texture"] == [{"match": "*", "max_size": 256}]
    assert "# palette = " in (tmp_path / "manifests/splashpack.toml").read_text()


def test_without_a_scene_there_are_no_rules_for_its_textures(tmp_path):
    assert "texture" not in begin(tmp_path, "splashpack", sky__png=png((1, 2, 3)))


def test_patches_of_a_mesh_are_two_files_and_pictures_get_no_such_option(tmp_path):
    assert begin(tmp_path / "a", "rp2350", sign__glb=textured_glb())["asset"][0]["pack"] is True
    assert "pack" not in begin(tmp_path / "b", "rp2350", a__png=png((1, 2, 3)))["asset"][0]


@pytest.mark.parametrize("others", [{}, {"icon__png": png((1, 2, 3), 16)}])
def test_a_picture_that_no_option_makes_fit_is_left_out_by_name(tmp_path, others):
    stream = io.BytesIO()
    Image.new("RGB", (5000, 3)).save(stream, "PNG")
    found = begin(tmp_path, "rp2350", strip__png=stream.getvalue(), **others)
    text = (tmp_path / "manifests/rp2350.toml").read_text()
    if others:
        (asset,) = found["asset"]
        assert asset["exclude"] == ["assets/strip.png"]
        assert 'exclude = ["assets/strip.png"]  # no options make it fit\n' in text
    else:
        assert "asset" not in found
        assert "# Left out: assets/**/*.png  # no options make it fit\n" in text


def test_pictures_that_rp2350_would_refuse_are_scaled_and_no_others(tmp_path):
    found = begin(
        tmp_path,
        "rp2350",
        icon__png=png((1, 2, 3), 16),
        photo__png=png((1, 2, 3), 15),
        huge__png=png((1, 2, 3), 2048),
        broken__png=b"no picture",
    )
    assert "scale_to" not in found["asset"][0]
    assert found["asset"][1:] == [
        {
            "source": ["assets/huge.png", "assets/photo.png"],
            "max_size": 1024,
            "scale_to": "power_of_two",
        }
    ]
    assert (
        "# 2 do not fit without these options" in (tmp_path / "manifests/rp2350.toml").read_text()
    )


def test_many_pictures_that_do_not_fit_are_named_by_a_pattern(tmp_path):
    names = {f"photo{n}__png": png((1, 2, 3), 15) for n in range(9)}
    found = begin(tmp_path, "rp2350", **names)
    assert found["asset"][1]["source"] == ["assets/**/*.png"]


def test_models_are_mirrored_for_a_left_handed_view(tmp_path):
    assert begin(tmp_path, "kac", sign__glb=textured_glb())["asset"][0]["mirror"] is True


def test_a_character_is_a_model_and_what_has_no_skin_a_scene(tmp_path):
    found = begin(tmp_path, "untold", hero__glb=skinned_glb(), hut__glb=textured_glb())
    assert [one["source"] for one in found["model"]] == ["assets/hero.glb"]
    assert [one["source"] for one in found["scene"]] == ["assets/hut.glb"]


def test_a_character_alone_is_no_scene(tmp_path):
    found = begin(tmp_path, "untold", hero__glb=skinned_glb(), broken__glb=b"x" * 9999)
    assert [one["source"] for one in found["model"]] == ["assets/hero.glb"]
    assert "scene" not in found


def lines_of(root: Path, ci: str | None = None) -> str:
    (root / "assets").mkdir()
    for name in ("step.ogg", "chair.fbx", "sky.png"):
        (root / "assets" / name).write_bytes(png((1, 2, 3)))
    return "\n".join(start_project(str(root), ["emberware"], ci))


def test_missing_extras_of_what_was_found_are_said_at_once(tmp_path, monkeypatch):
    absent = {"fbx": {"ufbx": None}, "audio": {"soundfile": None}, "usd": {"usd-core": None}}
    monkeypatch.setattr(extra, "extras", lambda: absent)
    said = lines_of(tmp_path)
    assert 'pip install "cartwright-build[audio,fbx]"' in said
    assert ".fbx" in said
    assert ".ogg" in said


def test_an_extra_of_which_one_library_is_there_is_said_to_lack_the_other(monkeypatch):
    there = {"trimesh": {"trimesh": "4", "pycollada": None}, "fbx": {"ufbx": None}}
    monkeypatch.setattr(doctor, "extras", lambda: there)
    said = [one.text for one in doctor.examine(".", is_project=True) if one.what == "extra"]
    assert said == [
        'trimesh lacks pycollada (`pip install "cartwright-build[trimesh]"`)',
        'fbx is not installed (`pip install "cartwright-build[fbx]"`)',
    ]


def test_installed_extras_are_not_mentioned(tmp_path, monkeypatch):
    there = {"fbx": {"ufbx": "1"}, "audio": {"soundfile": "1"}}
    monkeypatch.setattr(extra, "extras", lambda: there)
    assert "pip install" not in lines_of(tmp_path)


@pytest.mark.parametrize(
    ("ci", "path"), [("github", ".github/workflows/content.yml"), ("gitlab", ".gitlab-ci.yml")]
)
def test_the_nightly_job_installs_the_extras_that_the_sources_need(tmp_path, ci, path):
    lines_of(tmp_path, ci)
    assert 'pip install "cartwright-build[audio,fbx]"\n' in (tmp_path / path).read_text()


def test_the_nightly_job_installs_no_extras_that_nothing_needs(tmp_path):
    (tmp_path / "sky.png").write_bytes(png((1, 2, 3)))
    list(start_project(str(tmp_path), ["emberware"], "gitlab"))
    assert "    - pip install cartwright-build\n" in (tmp_path / ".gitlab-ci.yml").read_text()
