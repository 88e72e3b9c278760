"""Source formats: how they are found, told apart and opened."""

from __future__ import annotations

import io
from importlib import import_module

import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.plan import Product, Source
from encoders.kit.source import content, registry
from encoders.kit.source.content import find_image_format, image_format
from encoders.kit.source.format import SourceFormat
from encoders.kit.source.image import open_image
from encoders.kit.source.image_survey import survey_image
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import (
    FORMATS,
    IMAGE_FORMATS,
    format_of,
    format_read,
    gltf_suffixes,
    image_suffixes,
    is_gltf,
    load_reader,
    model_suffixes,
    rigged_suffixes,
    sound_suffixes,
    survey_functions,
)
from encoders.kit.source.sound import open_sound
from encoders.kit.source.source_input import plan_inputs

FUNCTIONS = ("survey", "model", "image", "sound", "convert", "layers")
OTHER = SourceFormat(name="Raw", suffixes=(".raw",), image="encoders.kit.source.raw:decode_raw")


def jpeg() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (3, 2), (255, 0, 0)).save(stream, "JPEG")
    return stream.getvalue()


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_format_can_be_opened_or_converted_or_belongs_to_another(form: SourceFormat) -> None:
    assert form.suffixes
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in form.suffixes)
    named = {field for field in FUNCTIONS if getattr(form, field)}
    assert named
    assert not form.convert or named - {"layers"} == {"convert"}
    assert form.convert or form.survey
    assert bool(form.package) == bool(form.extra)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_function_that_a_format_names_is_there(form: SourceFormat) -> None:
    for field in FUNCTIONS:
        module, _, name = getattr(form, field).partition(":")
        if module:
            if form.package:
                pytest.importorskip({"usd-core": "pxr"}.get(form.package, form.package))
            assert callable(getattr(import_module(module), name))


def test_suffixes_come_sorted_by_what_can_be_opened() -> None:
    lists = (model_suffixes(), gltf_suffixes(), image_suffixes(), sound_suffixes())
    assert all(list(one) == sorted(one) for one in lists)
    assert {".fbx", ".glb", ".gltf"} <= set(gltf_suffixes()) < set(model_suffixes())
    assert ".obj" in set(model_suffixes()) - set(gltf_suffixes())
    assert {".fbx", ".usd", ".glb"} <= set(rigged_suffixes())
    assert ".stl" in set(gltf_suffixes()) - set(rigged_suffixes())
    assert {".jpeg", ".jpg", ".png"} <= set(image_suffixes())
    assert ".wav" in sound_suffixes()
    assert not any(".mtl" in one for one in lists)


def test_suffixes_are_known_in_any_case() -> None:
    assert format_of("a/B.OBJ") is format_of("b.obj")
    assert format_of("a.txt") is None
    assert format_of("a.obj/b") is None


def test_converted_source_is_read_as_gltf() -> None:
    assert format_read("a.fbx") is format_of("a.glb")
    assert is_gltf("a.fbx")
    assert not is_gltf("a.obj")
    assert resolve_reference("m/a.fbx", "my%20wood.png") == "m/my wood.png"
    assert resolve_reference("m/a.mtl", "my%20wood.png") == "m/my%20wood.png"


def test_images_are_surveyed_by_content_and_converted_sources_through_gltf() -> None:
    functions = survey_functions()
    assert functions[".png"] == functions[".jpg"] == "encoders.kit.source.image_survey:survey_image"
    assert functions[".fbx"] == "encoders.kit.source.conversion_survey:survey_converted"
    assert functions[".mtl"] == "encoders.kit.source.mtl.survey:survey_mtl"


def test_jpeg_that_is_called_png_is_opened_as_jpeg() -> None:
    assert open_image(jpeg(), "a.png").shape == (2, 3, 4)
    assert survey_image(jpeg(), "a.png")["format"] == "jpeg"


def test_format_without_magic_is_told_by_its_suffix_alone(monkeypatch) -> None:
    monkeypatch.setattr(content, "IMAGE_FORMATS", (*IMAGE_FORMATS, OTHER))
    monkeypatch.setattr(content, "format_of", lambda name: OTHER if name == "a.raw" else None)
    assert find_image_format(b"\0\0\2", "a.raw") is OTHER
    assert find_image_format(jpeg(), "a.raw") is format_of("a.jpg")
    assert find_image_format(b"\0\0\2", "a.png") is None


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"qoif", "QOI images are not supported. Export the image as PNG"),
        (b"?", "unknown format"),
        (b"<!DOCTYPE html><title>Sign in", "This is a web page. Download the picture itself"),
        (b"", "Save the picture again, or restore the file: nothing is in it."),
    ],
)
def test_image_that_cannot_be_read_is_refused_by_name(data: bytes, problem: str) -> None:
    with pytest.raises(EncodeError, match=problem) as caught:
        image_format(data, "a.png")
    assert caught.value.facts["file"] == "a.png"


def test_file_that_is_no_sound_is_refused_with_the_suffixes_that_are() -> None:
    with pytest.raises(EncodeError, match="no sound") as caught:
        open_sound(b"", "a.png")
    assert caught.value.facts == {"file": "a.png", "allowed": ", ".join(sound_suffixes())}


def test_missing_package_is_told_only_where_a_format_names_one() -> None:
    with pytest.raises(ImportError):
        load_reader(OTHER, "image", "a.raw")
    fields = {"package": "rawlib", "extra": "raw", "image": OTHER.image}
    form = SourceFormat(name="Raw", suffixes=(".raw",), **fields)
    with pytest.raises(EncodeError, match="rawlib is needed to read Raw") as caught:
        load_reader(form, "image", "a.raw")
    assert 'pip install "cartwright-build[raw]"' in caught.value.hint


def test_of_several_packages_the_missing_one_is_named(monkeypatch) -> None:
    def load(function: str) -> None:
        raise ModuleNotFoundError("No module named 'collada'", name="collada")

    monkeypatch.setattr(registry, "load", load)
    form = format_of("hut.dae")
    assert form is not None
    with pytest.raises(EncodeError, match="pycollada is needed to read COLLADA"):
        load_reader(form, "convert", "hut.dae")


def test_only_sources_that_are_converted_get_a_node() -> None:
    planned = plan_inputs("hut", ["m/a.fbx", "m/a=b.fbx", "m/c.obj", "m/d.bin"])
    names = ["hut/convert/m/a.fbx", "hut/convert/m/a%3Db.fbx"]
    assert [node.name for node in planned.nodes] == names
    assert planned.inputs == {
        "m/a.fbx": Product(names[0], "glb"),
        "m/a=b.fbx": Product(names[1], "glb"),
        "m/c.obj": Source("m/c.obj"),
        "m/d.bin": Source("m/d.bin"),
    }
    assert planned.nodes[0].inputs == {"source": Source("m/a.fbx")}
