"""Symbolic links that lead out of the project: refused by name, and never read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

import encoders
import pipeline.disk.inside as inside
from pipeline.build.work import do_job
from pipeline.disk.inside import OutsideError, read_inside
from pipeline.project import Project
from tests.pipeline.game import MANIFEST, Game

SECRET = "the-secret-of-another-folder"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    for name in ("x.inc", "x.txt", "x.dat", "deep/x.inc", "deep/x.txt"):
        (folder / name).write_text(SECRET)
    return folder


def holds_secret(game: Game) -> bool:
    found = [path for path in game.root.rglob("*") if path.is_file() and not path.is_symlink()]
    secret = SECRET.encode()
    return any(secret in path.read_bytes().lower() for path in found)


@pytest.mark.parametrize(
    ("link", "leads_to", "ref"),
    [
        ("assets/x.inc", "x.inc", "x.inc"),
        ("assets/sub", "", "sub/x.inc"),
        ("assets/sub", "", "sub/deep/x.inc"),
        ("assets/x.bin", "x.dat", "x.bin"),
        ("assets/sub", "", "sub/x.dat"),
    ],
)
def test_a_reference_through_a_link_that_leads_out_fails_its_asset_only(
    game, outside, link, leads_to, ref
):
    game.write("assets/a.txt", f"ref {ref}\n")
    game.write("assets/l.lst", "fine\n")
    game.path(link).symlink_to(outside / leads_to)
    ran = game.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a"])
    assert "toy:a  link leads out of the project" in ran.out
    assert "named in  assets/a.txt" in ran.out
    assert f"leads to  {outside}" in ran.out
    assert game.read("build/toy/l/0.line") == b"fine"
    assert not holds_secret(game)


def test_the_error_names_the_asset_that_refers_to_the_link_and_no_other(game, outside):
    for name in "ab":
        game.write(f"assets/{name}.txt", "ref x.inc\n")
    game.path("assets/x.inc").symlink_to(outside / "x.inc")
    out = game.doit().out
    for name in "ab":
        said = out.partition(f"toy:{name}  link leads out")[2].split("\ntoy:")[0]
        assert f"named in  assets/{name}.txt" in said


@pytest.mark.parametrize("source", ["assets/sub/x.txt", "assets/sub/*.txt", "assets/*/x.txt"])
def test_a_source_below_a_linked_folder_that_leads_out_is_refused(game, outside, source):
    game.write("assets/a.txt", "a")
    game.path("assets/sub").symlink_to(outside)
    game.write("manifests/toy.toml", f'target = "toy"\n[[asset]]\nsource = "{source}"\n')
    ran = game.doit()
    assert ran.code == 3
    assert f'"assets/sub" is a link that leads out of the project, to {outside}\n' in ran.err
    assert "1 mistake\n" in ran.err


def test_a_source_that_is_a_link_is_refused_with_where_it_leads(game, outside):
    game.path("assets").mkdir()
    game.path("assets/x.txt").symlink_to(outside / "x.txt")
    ran = game.doit()
    assert ran.code == 3
    assert f'"assets/x.txt" is a link that leads out of the project, to {outside}/x.txt' in ran.err


def test_a_file_that_only_an_option_names_is_refused_below_a_linked_folder(game, outside):
    game.write("assets/a.txt", "a")
    game.path("data").symlink_to(outside)
    game.write("manifests/toy.toml", MANIFEST + '[defaults.text]\nbeside = "data/x.dat"\n')
    ran = game.doit()
    assert ran.code == 3
    assert f'"data/x.dat" leads out of the project through a link, to {outside}/x.dat' in ran.err


def test_a_linked_folder_that_stays_inside_is_followed(game):
    game.write("shared/x.inc", "inside")
    game.write("assets/a.txt", "ref sub/x.inc\n")
    game.path("assets/sub").symlink_to("../shared")
    assert game.doit().code == 0
    assert b"INSIDE" in game.read("build/toy/a.out")


def test_a_project_that_is_reached_through_a_link_builds(game, tmp_path):
    game.write("assets/a.txt", "ref x.inc\n")
    game.write("assets/x.inc", "inside")
    (tmp_path / "way").symlink_to(game.root)
    game.root = tmp_path / "way"
    assert game.doit().code == 0
    assert b"INSIDE" in game.read("build/toy/a.out")


# Links that are swapped while a build runs.


def test_a_link_that_is_swapped_after_planning_is_not_read(game, outside, monkeypatch):
    game.write("assets/a.txt", "ref sub/x.inc\n")
    game.write("assets/sub/x.inc", "inside")

    def swap_and_do(job):
        if job.task == "toy:a":
            os.rename(game.path("assets/sub"), game.path("assets/kept"))
            game.path("assets/sub").symlink_to(outside)
        return do_job(job)

    monkeypatch.setattr("pipeline.build.work.do_job", swap_and_do)
    ran = game.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack"])
    assert "toy:a  link leads out of the project" in ran.out
    assert "assets/sub/x.inc" in ran.out
    assert f"leads to  {outside}/x.inc" in ran.out
    assert not holds_secret(game)


def test_a_link_that_is_swapped_before_a_survey_reads_it_is_not_read(game, outside, monkeypatch):
    import pipeline.plan.survey as survey

    game.write("assets/a.txt", "ref x.inc\n")
    game.write("assets/x.inc", "inside")
    original = survey.survey_file

    def swap_and_survey(*job):
        if not game.path("assets/x.inc").is_symlink():
            game.path("assets/x.inc").unlink()
            game.path("assets/x.inc").symlink_to(outside / "x.inc")
        return original(*job)

    monkeypatch.setattr(survey, "survey_file", swap_and_survey)
    ran = game.doit()
    assert "link leads out of the project" in ran.out
    assert not holds_secret(game)


@pytest.fixture(params=["the system's way", "the portable way"])
def way(request, monkeypatch):
    """Both ways to find where an opened file lies."""
    if request.param == "the portable way":
        monkeypatch.setattr(inside, "_place_of_handle", lambda handle: "")


def test_a_link_that_is_swapped_between_check_and_open_is_not_read(
    tmp_path, outside, monkeypatch, way
):
    (tmp_path / "game/sub").mkdir(parents=True)
    path = tmp_path / "game/sub/x.inc"
    path.write_text("inside")
    open_file = os.open

    def swap_and_open(name, *arguments, **options):
        if name == str(path):
            path.unlink(missing_ok=True)
            path.symlink_to(outside / "x.inc")
        handle = open_file(name, *arguments, **options)
        if name == str(path):  # and back again, so that a later look at the path sees a plain file
            path.unlink()
            path.write_text("inside")
        return handle

    monkeypatch.setattr(os, "open", swap_and_open)
    with pytest.raises(OSError, match=r"leads out|being replaced") as caught:
        read_inside(str(tmp_path / "game"), "sub/x.inc")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("link", "leads_to", "path"),
    [("x.inc", "x.inc", "x.inc"), ("sub", "", "sub/x.inc"), ("sub", "", "sub/deep/x.inc")],
)
def test_what_lies_outside_is_not_read_and_named(tmp_path, outside, way, link, leads_to, path):
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / link).symlink_to(outside / leads_to)
    with pytest.raises(OutsideError) as caught:
        read_inside(str(tmp_path / "game"), path)
    assert caught.value.leads_to == str((tmp_path / "game" / path).resolve())


def test_a_neighbour_whose_name_begins_like_the_project_lies_outside(tmp_path, way):
    (tmp_path / "game").mkdir()
    (tmp_path / "game-secret").mkdir()
    (tmp_path / "game-secret/x").write_text(SECRET)
    (tmp_path / "game/x").symlink_to(tmp_path / "game-secret/x")
    with pytest.raises(OutsideError):
        read_inside(str(tmp_path / "game"), "x")


def test_links_inside_and_plain_files_are_read(tmp_path, way):
    (tmp_path / "game/sub").mkdir(parents=True)
    (tmp_path / "game/sub/x").write_text("plain")
    (tmp_path / "game/y").symlink_to("sub/x")
    (tmp_path / "game/z").symlink_to("sub")
    (tmp_path / "way").symlink_to("game")
    for root in ("game", "way"):
        for path in ("sub/x", "y", "z/x"):
            assert read_inside(str(tmp_path / root), path) == b"plain"
    with pytest.raises(FileNotFoundError):
        read_inside(str(tmp_path / "game"), "nothing")


@pytest.mark.parametrize("name", [".gitignore", "outputs"])
def test_nothing_is_written_through_a_link_in_the_private_folder(game, outside, name):
    game.write("assets/a.txt", "hello")
    game.path(".cartwright").mkdir()
    game.path(f".cartwright/{name}").symlink_to(outside / "x.txt")
    game.doit()
    assert (outside / "x.txt").read_text() == SECRET


def test_the_digest_that_is_recorded_is_that_of_the_bytes_that_were_encoded(game, monkeypatch):
    monkeypatch.setattr(encoders, "__path__", list(encoders.__path__))
    game.write("assets/a.txt", "planned")

    def save_and_do(job):
        if job.task == "toy:a":
            game.write("assets/a.txt", "encoded")
        return do_job(job)

    monkeypatch.setattr("pipeline.build.work.do_job", save_and_do)
    assert game.doit().code == 0
    assert game.read("build/toy/a.out") == b"ENCODED"
    project = Project(str(game.root), print)
    row = project.state.row("toy:a")
    project.close()
    assert row.built.inputs["source"] == hashlib.sha256(b"encoded").hexdigest()


def test_a_manifest_that_links_out_of_the_project_is_refused(game, outside):
    (outside / "own.toml").write_text(f"{MANIFEST}# {SECRET}\n")
    game.path("manifests/own.toml").symlink_to(outside / "own.toml")
    ran = game.doit()
    assert ran.code == 3
    assert "manifests/own.toml  1 mistake\n  file  link leads out of the project, to " in ran.err
    assert not game.path("build/own").exists()


def test_a_broken_link_that_leads_elsewhere_now_is_said_anew(game):
    game.write("assets/b.txt", "b")
    game.path("assets/a.txt").symlink_to("gone1")
    assert "leads to  gone1" in game.doit().out
    game.path("assets/a.txt").unlink()
    game.path("assets/a.txt").symlink_to("gone2")
    assert "leads to  gone2" in game.doit().out


def test_an_error_of_a_missing_file_says_that_it_is_a_link_and_where_it_leads(game):
    code = game.read("encoders/toy.py").decode()
    fail = "from encoders.kit.error import EncodeError\n\ndef encode_text(inputs, params):\n"
    fail += '    raise EncodeError("texture not found", {"file": "assets/t.png"})\n'
    game.write("encoders/toy.py", f"{code}\n{fail}")
    game.write("assets/a.txt", "a")
    assert "leads to" not in game.doit().out
    game.path("assets/t.png").symlink_to("gone.png")
    ran = game.doit()
    assert "  file   assets/t.png\n  link   leads to nothing: gone.png\nMend the link" in ran.out
