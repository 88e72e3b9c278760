"""Every error about a damaged file ends with a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.isolate import use_scratch
from encoders.kit.source.conversion import compose, convert
from encoders.kit.source.image import open_image
from encoders.kit.source.model import open_model
from pipeline.process.scratch import install_scratch
from tests.kit.glb_builder import Builder
from tests.kit.png_maker import make_png
from tests.kit.usd_maker import package, sign

OBJ = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\n"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path) -> Iterator[None]:
    install_scratch(str(tmp_path / "scratch"))
    yield
    use_scratch(None)


def glb() -> bytes:
    builder = Builder()
    position = builder.accessor([(0, 0, 0), (1, 0, 0), (0, 1, 0)], bounds=True)
    builder.mesh({"POSITION": position}, indices=builder.accessor([0, 1, 2], "u2"))
    builder.add("nodes", mesh=0)
    builder.add("scenes", nodes=[0])
    return builder.glb()


def opened(name: str) -> Callable[[bytes], object]:
    return lambda data: open_model({name: data}, name)


def composed(name: str) -> Callable[[bytes], object]:
    return lambda data: compose({name: data}, name)


FORMS: dict[str, tuple[Callable[[], bytes], Callable[[bytes], object]]] = {
    "png": (
        lambda: make_png([[[1], [2]], [[3], [0]]], 2, 0),
        lambda data: open_image(data, "a.png"),
    ),
    "obj": (lambda: OBJ, opened("a.obj")),
    "glb": (glb, opened("a.glb")),
    "usda": (lambda: sign(""), composed("a.usda")),
    "usdz": (lambda: package({"a.usda": sign("")}), composed("a.usdz")),
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_error_about_a_damaged_file_has_a_hint(form):
    if form.startswith("usd"):
        pytest.importorskip("pxr")
    make, read = FORMS[form]
    whole = make()
    read(whole)
    hints: list[str] = []
    steps = max(len(whole) // 24, 1)
    damaged = [whole[:size] for size in range(0, len(whole), steps)]
    damaged += [whole[:at] + b"\xff" + whole[at + 1 :] for at in range(0, len(whole), steps)]
    for data in damaged:
        try:
            read(data)
        except EncodeError as error:
            hints.append(error.hint)
    assert len(hints) > 5
    assert all(hints)


def test_a_damaged_fbx_has_a_hint():
    pytest.importorskip("ufbx")
    with pytest.raises(EncodeError) as caught:
        convert(b"no model", "a.fbx")
    assert "Export the file again" in caught.value.hint
