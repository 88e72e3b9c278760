"""The format's document: its tables are the ones that the code has."""

from pathlib import Path

import pytest

from encoders.emberware.codec import qoa
from encoders.emberware.format import clip, mesh, ncit, ncxm, skeleton, sound, texture, vertex
from encoders.emberware.target import GAME, TARGET

TEXT = (Path(__file__).parents[2] / "docs/formats/emberware.md").read_text()
LAYOUTS = [
    clip.CLIP_HEADER,
    clip.BONE,
    skeleton.SKELETON_HEADER,
    skeleton.MATRIX,
    mesh.MESH_HEADER,
    vertex.POSITION,
    *vertex.ATTRIBUTES.values(),
    texture.TEXTURE_HEADER,
    sound.SOUND_HEADER,
    qoa.FRAME,
    qoa.SLICE,
    ncxm.NCXM_HEADER,
    ncxm.NCXM_SAMPLE,
    ncit.NCIT_HEADER,
]
OPTIONS = {**GAME}
for kind in TARGET.kinds.values():
    OPTIONS |= kind.options


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.title)
def test_every_layout_is_in_the_document_as_it_is(layout) -> None:
    assert layout.table() in TEXT


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_in_the_document_with_its_meaning(name: str) -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |")]
    assert any(OPTIONS[name].doc in row for row in rows)
