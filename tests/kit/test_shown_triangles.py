from __future__ import annotations

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source import shown_triangles
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.shown_triangles import check_shown_triangles
from pipeline.content.code import target_names
from tests.fuzz.memory_build import MANIFESTS, build
from tests.kit.glb_builder import Builder, quad

SHOWN_TOO_OFTEN = "the model shows too many triangles for its size"


def repeated(nodes: int, triangles: int) -> bytes:
    """Make a model in which many nodes show one mesh."""
    builder = Builder()
    positions = builder.accessor([[0, 0, 0], [1, 0, 0], [0, 1, 0]], bounds=True)
    corners = builder.accessor([0, 1, 2] * triangles, "u1", "SCALAR")
    mesh = builder.mesh({"POSITION": positions}, indices=corners)
    for _ in range(nodes):
        builder.add("nodes", mesh=mesh)
    return builder.glb()


@pytest.mark.parametrize("target", target_names())
def test_small_file_that_shows_a_million_triangles_is_refused_by_name(target: str) -> None:
    built = build(target, {"assets/copies.glb": repeated(1000, 1300)})
    assert [error.problem for error in built.errors] == [SHOWN_TOO_OFTEN]
    assert built.errors[0].facts["asset"] == "assets/copies.glb"
    assert built.errors[0].facts["triangles"] == "1300000"
    assert "triangle_limit = 1300000" in built.errors[0].hint
    assert not any(path.endswith((".kac", ".untold", ".splashpack")) for path in built.files)


@pytest.mark.parametrize("target", target_names())
def test_option_raises_and_lowers_the_number_of_triangles(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_triangles, "FREE_TRIANGLES", 0)
    monkeypatch.setattr(shown_triangles, "TRIANGLES_PER_BYTE", 0)
    files = {"assets/quad.glb": quad().glb()}
    for limit, problems in (("1", [SHOWN_TOO_OFTEN]), ("2", [])):
        text = MANIFESTS[target].replace(
            'source = "assets/*"\n', f'source = "assets/*"\ntriangle_limit = {limit}\n'
        )
        assert [error.problem for error in build(target, files, text).errors] == problems


@pytest.mark.parametrize("bytes_each", [40, 80])
def test_a_forest_is_not_refused(bytes_each: int) -> None:
    forest = {"triangles": 5000 * 300, "stored_bytes": 6000 + 5000 * bytes_each}
    check_shown_triangles("forest.glb", {"forest.glb": forest}, {})
    with pytest.raises(EncodeError, match="too many triangles"):
        check_shown_triangles("forest.glb", {"forest.glb": forest}, {"triangle_limit": 1000})


def test_buffers_beside_the_file_count_as_its_bytes() -> None:
    builder = quad()
    inside, beside = builder.gltf(), builder.gltf("quad.bin")
    stored = survey_gltf(beside, "a.gltf")["stored_bytes"]
    assert stored > len(beside)
    assert survey_gltf(inside, "a.gltf")["stored_bytes"] == len(inside)
