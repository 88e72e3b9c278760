"""Textures and sounds: the encoder's own bytes, upright pictures, sounds that come back."""

from __future__ import annotations

import io
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import texture2ddecoder
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from encoders.emberware.codec.bc5 import decode_bc5
from encoders.emberware.codec.bc7 import decode_bc7
from encoders.emberware.codec.qoa import pack_qoa, unpack_qoa
from encoders.emberware.format.sound import pack_sound, unpack_sound
from encoders.emberware.format.texture import unpack_texture
from encoders.emberware.node_sound import encode_sound
from encoders.emberware.node_texture import encode_texture
from encoders.emberware.scene_view import view_texture
from encoders.emberware.view import (
    decode_sound_file,
    decode_texture_file,
    extract_sound_file,
    write_wav,
)
from encoders.kit.error import EncodeError
from encoders.kit.native import kernel
from encoders.kit.source.wav.decode import decode_wav
from encoders.kit.view.draw import render_png
from pipeline.build.purity import pure

DATA = Path(__file__).parent / "data/emberware/export"
SINE = np.frombuffer((DATA / "sine.s16le").read_bytes(), "<i2")
SINE_FILE = (DATA / "sine.qoa.ewzsnd").read_bytes()

Image.init()


def png(image: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def encode_picture(image: np.ndarray, form: str = "rgba8") -> dict[str, bytes]:
    with pure():
        return encode_texture({"image": png(image)}, {"source": "a.png", "format": form})


def test_a_texture_is_scaled_on_import_without_a_warning() -> None:
    image = np.full((100, 300, 4), (10, 200, 30, 255), np.uint8)
    params = {"source": "a.png", "format": "rgba8", "max_size": 150, "scale_to": "power_of_two"}
    with pure():
        made = encode_texture({"image": png(image)}, params)
    texture = unpack_texture(made["file"], "a")
    assert (texture["width"], texture["height"]) == (128, 64)
    assert texture["pixels"] == bytes((10, 200, 30, 255)) * (128 * 64)
    assert not made["warnings"]


def encode_wav(data: bytes, quality: str = "default") -> dict[str, bytes]:
    with pure():
        return encode_sound({"sound": data}, {"source": "a.wav", "quality": quality})


def wav(samples: np.ndarray, rate: int, channels: int) -> bytes:
    data = samples.astype("<i2").tobytes()
    align = 2 * channels
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * align, align, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def test_a_texture_is_its_size_and_its_rows_from_the_top() -> None:
    image = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    made = encode_picture(image)["file"]
    assert made == bytes.fromhex("0300 0200") + bytes(range(24))


def test_a_rendered_texture_is_the_picture_that_went_in() -> None:
    image = np.random.default_rng(1).integers(0, 256, (5, 7, 4), np.uint8)
    made = encode_picture(image)["file"]
    shown = np.array(Image.open(io.BytesIO(render_png(view_texture(made, "a", {}.get)))))
    assert (shown == image).all()
    assert decode_texture_file(made, "a")["format"] == "rgba8"


def test_every_truncated_texture_is_refused_unless_it_is_one_of_blocks() -> None:
    made = encode_picture(np.zeros((4, 8, 4), np.uint8))["file"]
    for size in range(len(made)):
        if size == 4 + 32:
            assert unpack_texture(made[:size], "a")["format"] == "bc7"
            continue
        with pytest.raises(EncodeError):
            unpack_texture(made[:size], "a")
    with pytest.raises(EncodeError):
        unpack_texture(made + b"\0", "a")


def test_blocks_are_shown_by_a_library_that_says_how_to_install_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "texture2ddecoder", None)
    made = encode_picture(np.zeros((4, 4, 4), np.uint8), "bc7")["file"]
    with pytest.raises(EncodeError, match="texture2ddecoder is needed") as caught:
        decode_bc7(unpack_texture(made, "a")["pixels"], 4, 4, "a")
    assert "cartwright-build[bc7]" in caught.value.hint


def test_blocks_of_a_picture_that_does_not_divide_are_refused() -> None:
    with pytest.raises(EncodeError, match="does not divide"):
        encode_picture(np.zeros((4, 6, 4), np.uint8), "bc7")


PICTURES = {
    "smooth": lambda x, y, _: np.stack([x * 4, y * 8, 255 - x * 4], -1),
    "noise": lambda x, y, random: random.integers(0, 256, (*x.shape, 3)),
    "edges": lambda x, y, _: np.where((x // 5 + y // 3)[..., None] % 2, [250, 20, 90], [3, 90, 1]),
    "white": lambda x, y, _: np.full((*x.shape, 3), 255),
}


@pytest.mark.parametrize("name", PICTURES)
def test_blocks_of_an_opaque_picture_are_opaque(name: str) -> None:
    y, x = np.mgrid[0:32, 0:64]
    image = np.full((32, 64, 4), 255, np.uint8)
    image[..., :3] = PICTURES[name](x, y, np.random.default_rng(1))
    pixels = unpack_texture(encode_picture(image, "bc7")["file"], "a")["pixels"]
    assert (decode_bc7(pixels, 64, 32, "a")[..., 3] == 255).all()


def normal_map(height: int = 16, width: int = 24) -> np.ndarray:
    y, x = np.mgrid[0:height, 0:width] / 5
    normal = np.stack([np.sin(x) * 0.6, np.cos(y * 1.3) * 0.5, np.zeros_like(x)], -1)
    normal[..., 2] = np.sqrt(1 - normal[..., 0] ** 2 - normal[..., 1] ** 2)
    rgb = np.rint((normal + 1) * 127.5)
    return np.concatenate([rgb, np.full((height, width, 1), 255)], -1).astype(np.uint8)


def test_a_block_of_two_channels_has_known_bytes() -> None:
    image = np.zeros((4, 4, 4), np.uint8)
    image[...] = (128, 200, 0, 255)
    image[0, 0, 0] = 198  # the first end; all others are the second
    image[1, 1, 1] = 130  # the second end of green; all others are the first
    made = encode_picture(image, "bc5")["file"][4:]
    # Code 1 for fifteen texels: 48 bits of 001 but for the first. Code 1 for texel 5 of green.
    red = sum(1 << 3 * texel for texel in range(1, 16)).to_bytes(6, "little")
    green = (1 << 3 * 5).to_bytes(6, "little")
    assert made == bytes([198, 128]) + red + bytes([200, 130]) + green


def test_a_normal_map_of_two_channels_comes_back() -> None:
    image = normal_map()
    pixels = unpack_texture(encode_picture(image, "bc5")["file"], "a")["pixels"]
    shown = decode_bc5(pixels, 24, 16, "a").astype(int)
    assert np.abs(shown - image)[..., :2].max() <= 6
    assert np.abs(shown - image)[..., 2].max() <= 8
    other = np.frombuffer(texture2ddecoder.decode_bc5(pixels, 24, 16), np.uint8)
    other = other.reshape(16, 24, 4)[..., [2, 1]].astype(int)
    assert np.abs(shown[..., :2] - other).max() <= 1


def test_blocks_of_two_channels_are_no_worse_than_those_of_etcpak() -> None:
    etcpak = pytest.importorskip("etcpak")
    image = normal_map(64, 64)
    ours = unpack_texture(encode_picture(image, "bc5")["file"], "a")["pixels"]
    errors = []
    for blocks in (ours, etcpak.compress_bc5(image.tobytes(), 64, 64)):
        shown = np.frombuffer(texture2ddecoder.decode_bc5(blocks, 64, 64), np.uint8)
        off = shown.reshape(64, 64, 4)[..., [2, 1]].astype(float) - image[..., :2]
        errors.append((off**2).mean())
    assert errors[0] <= errors[1]


def test_both_forms_of_a_block_are_decoded() -> None:
    random = np.random.default_rng(3)
    blocks = random.integers(0, 256, 16 * 24, np.uint8).tobytes()
    ours = decode_bc5(blocks, 24, 16, "a")[..., :2].astype(int)
    other = np.frombuffer(texture2ddecoder.decode_bc5(blocks, 24, 16), np.uint8)
    assert np.abs(ours - other.reshape(16, 24, 4)[..., [2, 1]]).max() <= 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [((3, 128), "has no alpha"), ((2, "noise"), "no normal map"), ((2, 0), None)],
)
def test_a_picture_that_is_no_normal_map_is_refused(change, problem) -> None:
    image = normal_map()
    channel, value = change
    noise = np.random.default_rng(1).integers(0, 128, image.shape[:2])
    image[..., channel] = noise if value == "noise" else value
    if problem is None:  # two channels, and nothing in blue
        assert encode_picture(image, "bc5")["file"]
        return
    with pytest.raises(EncodeError, match=problem):
        encode_picture(image, "bc5")


@pytest.mark.parametrize("form", ["bc5", "bc7"])
@pytest.mark.parametrize("size", [(4, 4), (24, 16)])
def test_a_loose_texture_is_drawn_as_what_it_holds_though_it_does_not_say(form, size) -> None:
    image = normal_map(*size)
    made = encode_picture(image, form)["file"]
    shown = view_texture(made, "rock.nczxtex", lambda name: None).pixels
    assert np.abs(shown.astype(int) - image).mean() <= 4


def test_only_the_console_that_has_bc5_has_textures_that_may_be_of_either_form() -> None:
    made = encode_picture(normal_map(), "bc5")["file"]
    assert decode_texture_file(made, "rock.nczxtex")["format"] == "bc7 or bc5"
    assert decode_texture_file(made, "rock.ewztex")["format"] == "bc7"


def test_blocks_look_like_the_picture() -> None:
    y, x = np.mgrid[0:32, 0:64]
    image = np.stack([x * 4, y * 8, 255 - x * 4, 255 - y * 4], axis=-1).astype(np.uint8)
    texture = unpack_texture(encode_picture(image, "bc7")["file"], "a")
    assert texture["format"] == "bc7"
    decoded = np.frombuffer(texture2ddecoder.decode_bc7(texture["pixels"], 64, 32), np.uint8)
    shown = decoded.reshape(32, 64, 4)[:, :, [2, 1, 0, 3]]
    assert np.abs(shown.astype(int) - image).max() <= 8


def test_a_sine_is_encoded_as_the_consoles_encoder_does_it() -> None:
    made = encode_wav(wav(SINE, 22050, 1))
    assert made["file"] == SINE_FILE
    assert made["samples"] == SINE.tobytes()
    assert not made["warnings"]


def test_the_reference_encodes_the_sine_as_the_kernel_does() -> None:
    before = kernel.use_native(False)
    try:
        assert SINE_FILE.endswith(pack_qoa(SINE))
    finally:
        kernel.use_native(before)
    assert SINE_FILE.endswith(pack_qoa(SINE))


def test_a_sound_that_must_be_converted_is_warned_of() -> None:
    stereo = np.stack([SINE, -SINE], axis=1)
    made = encode_wav(wav(stereo, 44100, 2))
    assert b"mixed to one channel" in made["warnings"]
    assert b"resampled from 44100 to 22050" in made["warnings"]
    assert len(made["samples"]) == 2 * (len(SINE) // 2)
    assert not any(made["samples"])


def test_frames_begin_with_the_state_that_the_last_one_left() -> None:
    second = 8 + 21 + 256 * 8
    assert SINE_FILE[8:13].hex() == "0114000815"
    assert SINE_FILE[13:29].hex() == "0000" * 4 + "00000000e0004000"
    assert SINE_FILE[second] == 1
    assert struct.unpack_from(">H", SINE_FILE, second + 1) == (6001 - 5120,)


def test_a_sound_is_heard_much_as_it_was() -> None:
    heard = unpack_sound(SINE_FILE, "a")
    noise = (heard.astype(float) - SINE).std()
    assert 20 * np.log10(SINE.astype(float).std() / noise) > 40
    assert decode_sound_file(SINE_FILE, "a")["total_samples"] == 6001


def test_the_nearest_codes_are_heard_with_less_noise() -> None:
    """Beside the bytes of the console's own encoder, on a sine and on noise of two colours."""
    random = np.random.default_rng(3)
    rough = (random.standard_normal(4000) * 4000).clip(-32768, 32767).astype(np.int16)
    walk = (np.cumsum(random.standard_normal(4000)) * 60).clip(-32768, 32767).astype(np.int16)
    for samples in (SINE, rough, walk):
        plain, best = (
            unpack_qoa(pack_qoa(samples, best=choice), len(samples), 0, "a")
            for choice in (False, True)
        )
        noises = [np.square(samples.astype(float) - heard).sum() for heard in (plain, best)]
        assert noises[1] < 0.8 * noises[0]


def test_the_quality_of_a_sound_is_an_option_of_its_node() -> None:
    best = encode_wav(wav(SINE, 22050, 1), quality="best")
    assert best["file"] == pack_sound(SINE, best=True) != SINE_FILE
    assert best["samples"] == SINE.tobytes()


def test_an_extracted_sound_is_a_wav_of_what_is_heard() -> None:
    data = extract_sound_file(SINE_FILE, "a")["sound.wav"]
    sound = decode_wav(data, "a.wav")
    assert sound.rate == 22050
    assert data == write_wav(unpack_sound(SINE_FILE, "a"))


@given(st.lists(st.integers(-32768, 32767), min_size=1, max_size=70))
@settings(max_examples=25, deadline=None)
def test_any_sound_is_encoded_and_read_back_to_its_length(samples: list[int]) -> None:
    values = np.array(samples, np.int16)
    assert len(unpack_qoa(pack_qoa(values), len(values), 0, "a")) == len(values)


@given(st.lists(st.integers(-20000, 20000), min_size=20, max_size=20))
@settings(max_examples=10, deadline=None)
def test_no_scale_errs_less_than_the_one_that_was_taken(samples: list[int]) -> None:
    """Try all sixteen scales the long way: the first of the best is the slice's own."""
    word = int.from_bytes(pack_qoa(np.array(samples, np.int16))[21:29], "big")
    errors = [error_at(samples, scale) for scale in range(16)]
    assert errors.index(min(errors)) == word >> 60


def error_at(samples: list[int], scale: int) -> int:
    size = (1, 7, 21, 45, 84, 138, 211, 304, 421, 562, 731, 928, 1157, 1419, 1715, 2048)[scale]
    steps = [0.75, -0.75, 2.5, -2.5, 4.5, -4.5, 7.0, -7.0]
    codes = (7, 7, 7, 5, 5, 3, 3, 1, 0, 0, 2, 2, 4, 4, 6, 6, 6)
    history, weights, total = [0] * 4, [0, 0, -8192, 16384], 0
    for sample in samples:
        guess = sum(a * b for a, b in zip(history, weights, strict=True)) >> 13
        units = max(-8, min(8, int((sample - guess) / size)))
        exact = size * steps[codes[units + 8]]
        step = int(abs(exact) + 0.5) * (1 if exact > 0 else -1)
        heard = max(-32768, min(32767, guess + step))
        total += (sample - heard) ** 2
        weights = [
            weight + (-(step >> 4) if value < 0 else step >> 4)
            for weight, value in zip(weights, history, strict=True)
        ]
        history = [*history[1:], heard]
    return total


def test_every_truncated_sound_and_every_wrong_frame_is_refused() -> None:
    short = encode_wav(wav(SINE[:50], 22050, 1))["file"]
    for size in range(len(short)):
        with pytest.raises(EncodeError):
            unpack_sound(short[:size], "a")
    with pytest.raises(EncodeError, match="behind its last frame"):
        unpack_sound(short + b"\0", "a")
    # Flags, padding, channels, the count of samples, the frame's size, and unused codes.
    for place in (4, 5, 6, 7, 8, 9, 10, 11, 12, len(short) - 1):
        flipped = bytearray(short)
        flipped[place] ^= 1
        with pytest.raises(EncodeError):
            unpack_sound(bytes(flipped), "a")
