"""The outer shape: GLB chunks, JSON, versions, URIs, extensions."""

import json
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.data.buffer import buffer_bytes
from encoders.kit.source.gltf.document.container import decode_container
from encoders.kit.source.gltf.document.extension import HARMLESS, KNOWN
from encoders.kit.source.gltf.document.spec import decode_document
from encoders.kit.source.gltf.document.uri import decode_data_uri, decode_percent, decode_uri
from encoders.kit.source.gltf.source import decode_gltf
from tests.kit.glb_builder import glb, quad

SMALLEST = bytes.fromhex(
    "67 6c 54 46"  # magic "glTF"
    "02 00 00 00"  # version 2
    "3c 00 00 00"  # 60 bytes in all
    "1c 00 00 00 4a 53 4f 4e"  # a chunk of 28 bytes, type "JSON"
    "7b 22 61 73 73 65 74 22 3a"  # {"asset":
    "7b 22 76 65 72 73 69 6f 6e 22 3a 22 32 2e 30 22 7d 7d"  # {"version":"2.0"}}
    "20"  # padding to a multiple of four
    "04 00 00 00 42 49 4e 00"  # a chunk of 4 bytes, type "BIN"
    "01 02 03 04"
)


def test_smallest_glb_gives_its_json_and_its_binary_chunk():
    container = decode_container(SMALLEST, "a.glb")
    assert bytes(container.json) == b'{"asset":{"version":"2.0"}} '
    assert bytes(container.binary) == b"\x01\x02\x03\x04"


@pytest.mark.parametrize("length", range(len(SMALLEST)))
def test_every_truncated_glb_is_refused_with_its_name(length):
    with pytest.raises(EncodeError) as error:
        decode_gltf(SMALLEST[:length], "cut.glb")
    assert error.value.facts["file"] == "cut.glb"


def test_glb_of_version_1_is_refused_with_a_hint():
    data = struct.pack("<4sII", b"glTF", 1, 20) + bytes(8)
    with pytest.raises(EncodeError, match="version") as error:
        decode_container(data, "old.glb")
    assert "2.0" in error.value.hint


def test_gltf_1_json_is_refused():
    with pytest.raises(EncodeError, match="version"):
        decode_gltf(b'{"asset": {"version": "1.0"}}', "old.gltf")
    # Its lists were objects, so no document of version 2 has these types.
    with pytest.raises(EncodeError, match="version") as error:
        decode_gltf(b'{"asset": {"version": "1.0"}, "meshes": {"a": {}}}', "old.gltf")
    assert error.value.facts["found"] == "1.0"


def test_binary_chunk_before_json_is_refused():
    data = struct.pack("<4sIIII", b"glTF", 2, 20, 0, 0x004E4942)
    with pytest.raises(EncodeError, match="JSON chunk"):
        decode_container(data, "x.glb")


def test_unknown_chunk_after_json_is_skipped():
    text = b'{"asset":{"version":"2.0"}} '
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II4s", 4, 1, b"abcd")
    data = struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
    assert decode_container(data, "x.glb").binary is None


def test_text_with_byte_order_mark_is_read():
    assert decode_gltf(b'\xef\xbb\xbf{"asset": {"version": "2.0"}}', "x.gltf").warnings == ()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"[1]", b"\0" * 40])
def test_what_is_no_gltf_is_refused(data):
    with pytest.raises(EncodeError, match="not a glTF"):
        decode_gltf(data, "x.gltf")


def test_wrong_type_names_its_json_path():
    text = json.dumps({"asset": {"version": "2.0"}, "nodes": [{}, {"mesh": "hat"}]}).encode()
    with pytest.raises(EncodeError) as error:
        decode_document(text, "x.gltf")
    assert "$.nodes[1].mesh" in error.value.facts["found"]


def test_deeply_nested_json_is_refused_not_crashed():
    text = b'{"asset": {"version": "2.0"}, "extras": ' + b"[" * 200000 + b"]" * 200000 + b"}"
    with pytest.raises(EncodeError):
        decode_document(text, "x.gltf")


def test_unknown_keys_are_skipped():
    text = b'{"asset": {"version": "2.0", "copyright": "me"}, "extras": {"a": [1, {}]}, "what": 1}'
    assert decode_document(text, "x").asset.version == "2.0"


def test_unknown_required_extension_is_refused_by_name():
    text = {
        "asset": {"version": "2.0"},
        "extensionsRequired": ["ACME_materials_rust"],
    }
    with pytest.raises(EncodeError) as error:
        decode_gltf(json.dumps(text).encode(), "x.gltf")
    assert error.value.facts["found"] == "ACME_materials_rust"


def test_all_unknown_required_extensions_are_named_at_once():
    required = ["ACME_fog", "KHR_lights_punctual", "ACME_rain"]
    text = {"asset": {"version": "2.0"}, "extensionsRequired": required}
    with pytest.raises(EncodeError, match="required extensions are not supported") as error:
        decode_gltf(json.dumps(text).encode(), "x.gltf")
    assert error.value.facts["found"] == "ACME_fog, ACME_rain"


@pytest.mark.parametrize("extension", sorted(HARMLESS | KNOWN))
def test_required_extension_that_changes_nothing_shown_is_no_reason_to_refuse(extension):
    text = {"asset": {"version": "2.0"}, "extensionsRequired": [extension]}
    assert decode_gltf(json.dumps(text).encode(), "x.gltf").warnings == ()


def test_extension_of_materials_is_nothing_to_a_reader_of_shapes():
    keys = ["ACME_materials_rust", "KHR_materials_sheen"]
    text = {"asset": {"version": "2.0"}, "extensionsRequired": keys, "extensionsUsed": keys}
    data = json.dumps(text).encode()
    assert decode_gltf(data, "x.gltf", with_materials=False).warnings == ()


def test_unknown_used_extension_is_a_warning():
    text = {"asset": {"version": "2.0"}, "extensionsUsed": ["ACME_fog", "KHR_texture_transform"]}
    gltf = decode_gltf(json.dumps(text).encode(), "x.gltf")
    assert gltf.warnings == ("extension ACME_fog is not supported and was ignored [ignored]",)


def test_the_same_buffer_comes_from_the_file_beside_it_or_a_data_uri():
    builder = quad()
    expected = bytes(builder.binary)
    inside = buffer_bytes(decode_gltf(builder.glb(), "a.glb"), 0)
    data_uri = buffer_bytes(decode_gltf(builder.gltf(), "a.gltf"), 0)
    for key in ("my%20mesh.bin", "my mesh.bin"):
        gltf = decode_gltf(builder.gltf("my%20mesh.bin"), "a.gltf", {key: expected + b"more"})
        assert bytes(buffer_bytes(gltf, 0)) == expected
    assert bytes(inside) == bytes(data_uri) == expected


def test_missing_file_is_refused_with_its_uri():
    gltf = decode_gltf(quad().gltf("mesh.bin"), "a.gltf", {"other.bin": b""})
    with pytest.raises(EncodeError) as error:
        buffer_bytes(gltf, 0)
    assert error.value.facts == {"file": "a.gltf", "at": "buffers[0]", "found": "mesh.bin"}


def test_truncated_glb_tells_what_its_header_promises():
    glb = quad().glb()
    with pytest.raises(EncodeError, match="GLB is cut off") as error:
        decode_gltf(glb[:-8], "a.glb")
    found = {"found": f"{len(glb) - 8} bytes", "the header says": f"{len(glb)} bytes"}
    assert error.value.facts == {"file": "a.glb", "at": "header", **found}


def test_short_buffer_is_refused():
    gltf = decode_gltf(quad().gltf("mesh.bin"), "a.gltf", {"mesh.bin": b"1234"})
    with pytest.raises(EncodeError, match="cut off"):
        buffer_bytes(gltf, 0)


def test_buffer_without_uri_outside_a_glb_is_refused():
    document = {"asset": {"version": "2.0"}, "buffers": [{"byteLength": 4}]}
    for data in (json.dumps(document).encode(), glb(document)):
        with pytest.raises(EncodeError, match="neither URI"):
            buffer_bytes(decode_gltf(data, "a"), 0)


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_percent_coding_round_trips_any_bytes(data):
    assert decode_percent("".join(f"%{byte:02X}" for byte in data)) == data


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("a%20b.png", "a b.png"),
        ("100%.png", "100%.png"),
        ("%zz%2", "%zz%2"),
        ("%C3%A9.bin", "é.bin"),
    ],
)
def test_uri_becomes_a_path(uri, path):
    assert decode_uri(uri) == path


def test_data_uri_without_base64_is_percent_decoded():
    assert decode_data_uri("data:text/plain,a%00b", "f", "w") == ("text/plain", b"a\0b")


@pytest.mark.parametrize("uri", ["data:", "data:x;base64", "data:;base64,A", "data:;base64,@@@@"])
def test_broken_data_uri_is_refused(uri):
    with pytest.raises(EncodeError):
        decode_data_uri(uri, "f", "w")


def test_survey_needs_no_numpy():
    code = (
        "import sys; import encoders.kit.source.gltf.survey; "
        "sys.exit(any(m in sys.modules for m in ('numpy', 'PIL')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
