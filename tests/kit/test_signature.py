"""Sources that are called like another format: read by content, or told what they look like."""

from __future__ import annotations

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.model import open_model
from encoders.kit.source.mtl.survey import survey_mtl
from encoders.kit.source.obj.survey import survey_obj
from encoders.kit.source.registry import IMAGE_FORMATS
from encoders.kit.source.signature import describe_content, find_signature
from encoders.kit.source.sound import open_sound
from encoders.kit.source.wav.survey import survey_wav
from tests.kit.glb_builder import quad

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
HTML = b"<!DOCTYPE html>\n<html>\n"


@pytest.mark.parametrize("data", [quad().glb(), quad().gltf()], ids=["GLB", "JSON"])
@pytest.mark.parametrize("name", ["a.glb", "a.gltf"])
def test_gltf_is_read_whichever_of_its_suffixes_it_has(name: str, data: bytes) -> None:
    assert open_model({name: data}, name).mesh.triangle_count == 2
    assert survey_gltf(data, name)["triangles"] == 2


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (PNG, "PNG"),
        (b"PK\x03\x04\0\0", "ZIP"),
        (b"Kaydara FBX Binary  \0", "FBX"),
        (b"v 0 0 0\n", "text"),
        (HTML, "HTML"),
        (b"OggS\0\2", "Ogg"),
    ],
)
def test_what_is_no_gltf_is_told_what_it_looks_like(data: bytes, what: str) -> None:
    for name in ("a/b.glb", "a/b.gltf"):
        with pytest.raises(EncodeError, match=f"is not a glTF file.*which looks like {what}\n"):
            survey_gltf(data, name)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"OggS\0\2\0\0", "Ogg"),
        (b"ID3\x04\0\0\0\0", "MP3"),
        (b"\xff\xfb\x90\x64\0\0", "MP3"),
        (b"fLaC\0\0\0\x22", "FLAC"),
        (b"FORM\0\0\0\0AIFF", "AIFF"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "WebP"),
        (b"not found\n", "text"),
        (PNG, "PNG"),
    ],
)
def test_what_is_no_wav_is_told_what_it_looks_like(data: bytes, what: str) -> None:
    for reader in (open_sound, survey_wav):
        with pytest.raises(EncodeError, match=f"b.wav is not a WAV.*which looks like {what}\n"):
            reader(data, "a/b.wav")


def test_an_mp3_with_the_name_of_a_wav_is_told_its_right_name() -> None:
    with pytest.raises(EncodeError) as caught:
        open_sound(b"\xff\xfb\x90\x00", "a/b.wav")
    assert caught.value.hint == "Name it b.mp3, or export it as WAV."


def test_an_empty_sound_is_called_empty() -> None:
    with pytest.raises(EncodeError, match=r"b\.wav is not a WAV: it is empty"):
        open_sound(b"", "a/b.wav")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (quad().gltf(), "JSON text"),
        (HTML, "HTML"),
        (b"; FBX 7.4.0 project file\n", "FBX"),
        (b"#usda 1.0\n", "USD"),
        (quad().glb(), "GLB"),
        (PNG, "PNG"),
    ],
)
def test_what_is_no_obj_or_mtl_is_told_what_it_looks_like(data: bytes, what: str) -> None:
    for reader, name in ((survey_obj, "a/b.obj"), (survey_mtl, "a/b.mtl")):
        with pytest.raises(EncodeError, match=f"looks like:? {what}") as caught:
            reader(data, name)
        assert caught.value.facts["file"] == name


@pytest.mark.parametrize(
    "text", [b"# ocean WAVE 3\nv 0 0 0\n", b"# a WEBP\n", b"\n\nv 0 0 0\n", b""]
)
def test_a_text_that_only_mentions_a_format_is_no_file_of_it(text: bytes) -> None:
    assert find_signature(text) is None
    survey_obj(text + b"v 0 0 0\n", "a.obj")


def test_every_image_format_with_magic_is_known_by_its_signature() -> None:
    for one in (form for form in IMAGE_FORMATS if form.magic):
        data = bytearray(32)
        for offset, magic in one.magic:
            data[offset : offset + len(magic)] = magic
        assert describe_content(bytes(data)) == one.name


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "an empty file"),
        (b"\0\1\2\3", "an unknown format"),
        ("Größe und Maß".encode(), "text"),
        (("a" * 63 + "ß").encode(), "text"),
        (b"\xef\xbb\xbf{}   ", "JSON text"),
        (b"\xff\xfe\xfd\xfc", "an unknown format"),
    ],
)
def test_content_is_described(data: bytes, what: str) -> None:
    assert describe_content(data) == what


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_utf16_is_called_so(encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    with pytest.raises(EncodeError) as caught:
        survey_obj(f"{mark}v 0 0 0\nf 1 1 1\n".encode(encoding), "a.obj")
    assert "text in UTF-16, not UTF-8" in str(caught.value)
