"""The parts of `bench/content.py` that decide what is built and how refusals are counted."""

from __future__ import annotations

from pathlib import Path

from bench.content import Outcome, Tally, find_sources, make_project, needed_files
from bench.content import _reason as reason_of

TRIANGLE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def write(folder: Path, **files: bytes) -> Path:
    for name, data in files.items():
        place = folder / name.replace("__", "/").replace("_", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return folder


def scene(folder: Path) -> Path:
    mtl = b"newmtl m\nmap_Kd tex/wood.png\n"
    obj = b"mtllib a.mtl\nusemtl m\n" + TRIANGLE
    return write(folder, m__a_obj=obj, m__a_mtl=mtl, m__tex__wood_png=b"x", m__b_png=b"y")


def test_project_has_a_model_and_all_that_it_refers_to_and_no_more(tmp_path):
    folder = scene(tmp_path / "content")
    wanted = {"m/a.obj", "m/a.mtl", "m/tex/wood.png"}
    assert needed_files(folder, folder / "m/a.obj") == wanted
    make_project(tmp_path, folder, folder / "m/a.obj", "kac")
    made = {str(path.relative_to(tmp_path / "assets")) for path in tmp_path.glob("assets/**/*.*")}
    assert made == wanted


def test_only_files_that_a_target_takes_are_built(tmp_path):
    folder = scene(tmp_path)
    found = [path.name for path in find_sources(folder, {".png"})]
    assert found == ["b.png", "wood.png"]


def test_refusals_that_differ_in_names_and_numbers_are_one_reason():
    texts = [f'kac:a{n}  "wood{n}" has {n} sides\n  file  a\n' for n in (3, 17)]
    assert {reason_of(text, "kac") for text in texts} == {"… has … sides"}
    assert reason_of("Traceback\nKeyError: 'x'", "kac") == "TRACEBACK KeyError: 'x'"


def test_row_counts_files_and_reasons():
    outcomes = [Outcome("a", "", 1, 50), Outcome("b", "bad", 2, 80), Outcome("c", "bad", 1, 9)]
    tally = Tally("kac", outcomes)
    assert tally.row() == "| kac | 3 | 1 | 33.3 % | 2 | 4.0 | 80 |"
    assert tally.reasons() == {"bad": ["b", "c"]}
