"""OGG, FLAC and MP3 through libsndfile."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from encoders.kit.error import EncodeError
from encoders.kit.source.registry import load, survey_functions
from encoders.kit.source.shared import sound_limit
from encoders.kit.source.sound import open_sound
from tests.kit.mutation import mutated
from tests.kit.refusal import attempt, names

soundfile = pytest.importorskip("soundfile")
ROOT = Path(__file__).parents[2]
FRAMES = 5000


def written(form: str, subtype: str | None = None, channels: int = 2, rate: int = 24000) -> bytes:
    wave = np.sin(np.arange(FRAMES)[:, None] / (9 + np.arange(channels))) * 0.5
    stream = io.BytesIO()
    soundfile.write(stream, wave, rate, subtype, format=form)
    return stream.getvalue()


FILES = {
    "a.ogg": written("OGG"),
    "b.opus": written("OGG", "OPUS", rate=48000),
    "c.flac": written("FLAC"),
    "d.flac": written("FLAC", "PCM_24", 1),
    "e.mp3": written("MP3"),
    "f.mp3": written("MP3", channels=1),
}


def survey(data: bytes, name: str) -> dict[str, object]:
    return load(survey_functions()[name[name.rindex(".") :]])(data, name)


@pytest.mark.parametrize("name", FILES)
def test_sound_has_the_librarys_samples_and_the_surveyed_shape(name: str) -> None:
    expected, rate = soundfile.read(io.BytesIO(FILES[name]), always_2d=True)
    sound = open_sound(FILES[name], name)
    # `soundfile.read` seeks first, after which the decoder of MP3 rounds otherwise.
    np.testing.assert_allclose(sound.samples, expected, atol=1e-6 if ".mp3" in name else 0)
    np.testing.assert_array_equal(sound.samples, open_sound(FILES[name], name).samples)
    found = survey(FILES[name], name)
    assert (sound.rate, rate) == (found["rate"], found["rate"])
    assert found["channels"] == expected.shape[1]
    assert found.get("frames", len(expected)) == len(expected)


def test_flac_is_lossless_and_equal_to_its_wav() -> None:
    stream = io.BytesIO()
    soundfile.write(stream, soundfile.read(io.BytesIO(FILES["c.flac"]))[0], 24000, format="WAV")
    wav = open_sound(stream.getvalue(), "a.wav")
    np.testing.assert_array_equal(open_sound(FILES["c.flac"], "a.flac").samples, wav.samples)


@pytest.mark.parametrize("name", FILES)
def test_every_truncated_sound_is_read_with_a_warning_or_refused(name: str) -> None:
    for length in range(0, len(FILES[name]), max(1, len(FILES[name]) // 40)):
        with contextlib.suppress(EncodeError):
            warnings: list[str] = []
            sound = open_sound(FILES[name][:length], name, warnings.append)
            assert len(sound.samples) > 0
            assert all(one.endswith("[damage]") for one in warnings)


@settings(max_examples=60, deadline=None)
@given(mutated(list(FILES.values())))
def test_damaged_sound_is_read_or_refused(data: bytes) -> None:
    for name in ("x.ogg", "x.flac", "x.mp3"):
        for reader in (survey, open_sound):
            found, refusal = attempt(reader, data, name)
            assert found if refusal is None else names(refusal, name)


@pytest.mark.parametrize("name", FILES)
def test_sound_over_the_limit_is_refused(name: str, monkeypatch) -> None:
    # Here, because a process of its own would have the limit as it is.
    monkeypatch.setattr("encoders.kit.isolate._runner", None)
    monkeypatch.setattr(sound_limit, "MAX_SECONDS", 0)
    with pytest.raises(EncodeError, match="too long"):
        open_sound(FILES[name], name)


@pytest.mark.parametrize("name", ["x.ogg", "x.flac", "x.mp3"])
def test_what_is_no_such_sound_is_told_what_it_looks_like(name: str) -> None:
    for reader in (survey, open_sound):
        with pytest.raises(EncodeError, match="looks like PNG"):
            reader(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", name)
    with pytest.raises(EncodeError, match="is no "):
        open_sound(FILES["c.flac" if name != "x.flac" else "a.ogg"], name)


def test_sound_of_another_format_is_told_to_be_renamed() -> None:
    with pytest.raises(EncodeError, match="the file is no MP3") as caught:
        open_sound(written("FLAC"), "assets/x.mp3")
    assert caught.value.hint == "Name it x.flac, or export the sound as MP3."


def test_reason_of_a_damaged_sound_is_the_same_each_time() -> None:
    data = written("OGG", "VORBIS")
    with pytest.raises(EncodeError, match="the OGG is damaged") as caught:
        open_sound(data[: len(data) // 40], "x.ogg")
    assert "object at" not in str(caught.value)
    assert caught.value.hint == "Export the sound again."


def test_missing_package_is_named_with_its_extra() -> None:
    code = "import sys; sys.modules['soundfile'] = None\n"
    code += "from encoders.kit.source.sound import open_sound\nopen_sound(b'', 'a.mp3')"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "soundfile is needed to read MP3" in ran.stderr
    assert 'pip install "cartwright-build[audio]"' in ran.stderr


def test_surveys_need_neither_the_package_nor_numpy() -> None:
    code = "import sys; sys.modules['soundfile'] = sys.modules['numpy'] = None\n"
    code += "from encoders.kit.source.registry import load, survey_functions\n"
    code += "for one in ('.ogg', '.flac', '.mp3'): load(survey_functions()[one])"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
