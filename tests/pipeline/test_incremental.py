"""Exactly what changed is built: the rules of the design, one after the other."""

from __future__ import annotations

import os

import pytest

from pipeline.state.state import State
from tests.pipeline.game import MANIFEST, Game


@pytest.fixture
def village(game: Game) -> Game:
    """Two texts, a list of two lines, a burst of three words; everything built."""
    game.write("assets/a.txt", "hello")
    game.write("assets/sub/b.txt", "world")
    game.write("assets/l.lst", "one\ntwo\n")
    game.write("assets/w.bst", "x y z")
    assert game.doit().code == 0
    return game


def test_everything_is_built_at_first(game):
    game.write("assets/a.txt", "hello")
    game.write("assets/l.lst", "one\ntwo\n")
    ran = game.doit()
    assert ran.code == 0
    assert ran.built == ["toy:a", "toy:l.0", "toy:l.1", "toy:pack"]
    assert game.outputs() == {
        "build/toy/a.out": b"HELLO",
        "build/toy/all.pack": b"a=5\n",
        "build/toy/l/0.line": b"one",
        "build/toy/l/1.line": b"two",
    }


def test_nothing_is_built_twice(village):
    before = village.outputs()
    ran = village.doit()
    assert (ran.code, ran.built, ran.restored) == (0, [], [])
    assert village.outputs() == before


def test_a_changed_source_builds_its_node_and_what_reads_it(village):
    village.write("assets/a.txt", "hello there")
    assert village.doit().built == ["toy:a", "toy:pack"]
    assert village.read("build/toy/all.pack") == b"a=11\nsub/b=5\n"


def test_built_is_not_changed_so_nothing_downstream_runs(village):
    village.write("assets/a.txt", "HELLO")
    assert village.doit().built == ["toy:a"]
    assert village.doit().built == []


def test_a_touched_source_builds_nothing_and_is_known_the_next_time(village):
    os.utime(village.path("assets/a.txt"), (1, 1))
    assert village.doit().built == []
    assert village.doit().built == []


def test_an_edit_that_keeps_size_and_time_is_seen(village):
    path = village.path("assets/a.txt")
    stat = path.stat()
    village.write("assets/a.txt", "HALLO")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "toy:a" in village.doit().built


def test_a_reverted_source_is_restored_without_encoding(village):
    village.write("assets/a.txt", "other")
    village.doit()
    village.write("assets/a.txt", "hello")
    ran = village.doit()
    assert (ran.built, ran.restored) == ([], ["toy:a"])
    assert village.read("build/toy/a.out") == b"HELLO"


def test_a_new_file_under_a_glob_is_built(village):
    village.write("assets/new.txt", "new")
    assert village.doit().built == ["toy:new", "toy:pack"]


def test_a_file_in_a_new_folder_under_a_glob_is_built(village):
    village.write("assets/deep/er/new.txt", "new")
    assert village.doit().built == ["toy:deep/er/new", "toy:pack"]


def test_a_removed_source_takes_its_outputs_along(village):
    village.remove("assets/l.lst")
    village.remove("assets/w.bst")
    assert village.doit().code == 0
    assert sorted(village.outputs()) == [
        "build/toy/a.out",
        "build/toy/all.pack",
        "build/toy/sub/b.out",
    ]
    assert not village.path("build/toy/l").exists()


def test_fewer_members_of_a_family_leave_no_stale_file(village):
    village.write("assets/w.bst", "x y")
    village.doit()
    parts = [name for name in village.outputs() if name.endswith(".part")]
    assert parts == ["build/toy/w_0.part", "build/toy/w_1.part"]
    assert village.read("build/toy/parts.pack") == b"x|y"


def test_a_family_can_shrink_to_the_one_file_that_stands_alone_and_grow_again(village):
    for text, files in (("x", ["w.part"]), ("x y", ["w_0.part", "w_1.part"])):
        village.write("assets/w.bst", text)
        village.doit()
        parts = [name for name in village.outputs() if name.endswith(".part")]
        assert parts == [f"build/toy/{name}" for name in files]
        assert village.read("build/toy/parts.pack") == text.replace(" ", "|").encode()


def test_stale_files_are_looked_for_with_one_look_at_each_node(village, monkeypatch):
    village.write("assets/w.bst", " ".join(map(str, range(60))))
    village.doit()
    asked, row = [], State.row

    def note(state, task):
        asked.append(task)
        return row(state, task)

    monkeypatch.setattr(State, "row", note)
    # A new plan in which the node of the files is up to date.
    village.write("assets/another.txt", "new")
    village.doit()
    assert asked.count("toy:w") <= 2
    assert len([name for name in village.outputs() if name.endswith(".part")]) == 60


def test_fewer_nodes_of_an_asset_leave_no_stale_file(village):
    village.write("assets/l.lst", "one\n")
    village.doit()
    assert [name for name in village.outputs() if "/l/" in name] == ["build/toy/l/0.line"]


def test_what_cartwright_did_not_make_is_never_removed(village):
    village.write("build/toy/notes.md", "mine")
    village.write("build/toy/l/mine.line", "mine")
    village.remove("assets/l.lst")
    village.doit()
    assert village.read("build/toy/notes.md") == b"mine"
    assert village.read("build/toy/l/mine.line") == b"mine"


def test_a_stale_output_that_somebody_altered_stays_with_a_warning(village):
    village.write("build/toy/l/0.line", "edited by hand")
    village.remove("assets/l.lst")
    ran = village.doit()
    assert village.read("build/toy/l/0.line") == b"edited by hand"
    assert "build/toy/l/0.line" in ran.out
    assert not village.path("build/toy/l/1.line").exists()


@pytest.mark.parametrize("deed", ["alter", "delete", "same size"])
def test_an_altered_or_deleted_output_is_restored_from_the_cache(village, deed):
    if deed == "delete":
        village.remove("build/toy/a.out")
    else:
        village.write("build/toy/a.out", "HALLO" if deed == "same size" else "tampered")
    ran = village.doit()
    assert (ran.built, ran.restored) == ([], ["toy:a"])
    assert village.read("build/toy/a.out") == b"HELLO"


def test_a_deleted_output_folder_is_restored_without_encoding(village):
    before = village.outputs()
    village.remove("build")
    assert village.doit().built == []
    assert village.outputs() == before


def test_a_deleted_cache_costs_nothing_while_nothing_changes(village):
    village.remove("cache")
    assert village.doit().built == []


def test_a_deleted_cache_changes_only_the_time(village):
    before = village.outputs()
    village.remove("cache")
    village.remove("build")
    assert village.doit().code == 0
    assert village.outputs() == before


def test_what_only_other_nodes_read_is_made_again_when_the_cache_lost_it(village):
    village.remove("cache")
    village.write("assets/a.txt", "hello again")
    ran = village.doit()
    assert ran.code == 0
    assert village.read("build/toy/all.pack") == b"a=11\nsub/b=5\n"


def test_an_input_that_the_cache_lost_is_not_called_new(village, monkeypatch):
    from pipeline.build.build import Build

    reasons = {}
    record = Build.record

    def note(self, task, result):
        event = record(self, task, result)
        reasons[task] = str(event.reason)
        return event

    monkeypatch.setattr(Build, "record", note)
    village.remove("cache")
    village.write("assets/a.txt", "hello again")
    village.doit()
    assert reasons["toy:sub/b"] == "output altered: lost from the cache"


@pytest.mark.parametrize("name", ["new.lst", "deep/er/new.lst"])
def test_a_new_output_folder_costs_the_next_run_nothing(village, monkeypatch, name):
    monkeypatch.setattr("pipeline.disk.listing.TICK_NS", -(10**12))  # nothing is too fresh
    village.write(f"assets/{name}", "one\n")
    assert village.doit().code == 0
    monkeypatch.setattr("pipeline.change.detect.Detector.status", lambda *_: pytest.fail("looked"))
    assert village.doit().code == 0


def test_a_deleted_output_is_called_missing_and_not_altered(village):
    village.remove("build/toy/a.out")
    assert "toy:a  output altered: missing: build/toy/a.out\n" in village.doit("explain").out
    village.write("build/toy/a.out", "altered")
    assert "toy:a  output altered: build/toy/a.out\n" in village.doit("explain").out


def test_a_changed_option_builds_what_has_the_option(village):
    village.write(
        "manifests/toy.toml",
        (
            'target = "toy"\n[[asset]]\nsource = "assets/**/*"\n'
            '[[asset]]\nsource = "assets/a.txt"\ncase = "lower"\n'
        ),
    )
    assert village.doit().built == ["toy:a"]
    assert village.read("build/toy/a.out") == b"hello"


def test_a_changed_comment_in_a_manifest_builds_nothing(village):
    village.write("manifests/toy.toml", "# comment\n" + village.read("manifests/toy.toml").decode())
    assert village.doit().built == []


def test_a_moved_output_folder_takes_everything_along(village):
    village.write("manifests/toy.toml", 'output = "dist"\n' + MANIFEST)
    ran = village.doit()
    assert (ran.code, ran.built) == (0, [])
    assert village.outputs() == {}
    assert village.outputs("dist")["dist/a.out"] == b"HELLO"


def test_changed_code_builds_what_it_encodes(village):
    code = village.read("encoders/toy.py").decode()
    village.write("encoders/toy.py", code.replace("text.upper()", "text.title()"))
    assert "toy:a" in village.doit().built
    assert village.read("build/toy/a.out") == b"Hello"


def test_an_edit_of_code_that_keeps_its_size_within_a_second_is_seen(village):
    code = village.read("encoders/toy.py").decode()
    for word, expected in (("title", b"Hello"), ("lower", b"hello"), ("upper", b"HELLO")):
        village.write("encoders/toy.py", code.replace("text.upper()", f"text.{word}()"))
        village.doit()
        assert village.read("build/toy/a.out") == expected


def test_comments_layout_and_docstrings_are_no_change_of_code(village):
    code = village.read("encoders/toy.py").decode()
    code = code.replace(
        "def encode_text(inputs, params):",
        'def encode_text(inputs,\n  params):\n    """Words."""  # more',
    )
    village.write("encoders/toy.py", code)
    assert village.doit().built == []


def test_a_missing_reference_counts_as_absent_and_its_arrival_as_a_change(village):
    village.write("assets/a.txt", "ref more.inc\n")
    assert "toy:a" in village.doit().built
    village.write("assets/more.inc", "more")
    assert "toy:a" in village.doit().built
    assert village.read("build/toy/a.out") == b"REF MORE.INC\nMORE"
    village.write("assets/more.inc", "less")
    assert "toy:a" in village.doit().built
    village.remove("assets/more.inc")
    ran = village.doit()
    assert ran.restored == ["toy:a", "toy:pack"]
    assert village.read("build/toy/a.out") == b"REF MORE.INC\n"


def test_a_source_that_no_survey_leads_to_is_watched_all_the_same(village):
    village.write("manifests/toy.toml", MANIFEST + '[defaults.text]\nbeside = "data/x.dat"\n')
    for text in ("first", "second", None, "third"):
        if text is None:
            village.remove("data/x.dat")
        else:
            village.write("data/x.dat", text)
        assert village.doit().code == 0
        assert village.read("build/toy/a.out") == b"HELLO" + (text or "").upper().encode()


def test_a_vanished_manifest_takes_its_outputs_along(village):
    village.write("manifests/second.toml", 'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\n')
    village.doit()
    assert "build/second/a.out" in village.outputs()
    village.remove("manifests/second.toml")
    village.doit()
    assert "build/second/a.out" not in village.outputs()
    assert "build/toy/a.out" in village.outputs()


@pytest.mark.parametrize("others", [0, 1])
def test_a_refused_name_of_a_vanished_manifest_does_not_save_its_outputs(village, others):
    if others:
        village.write(
            "manifests/other.toml", 'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\n'
        )
    village.doit()
    village.remove("manifests/toy.toml")
    assert village.doit("nosuch").code == 3
    village.doit()
    assert [path for path in village.outputs() if path.startswith("build/toy/")] == []


@pytest.mark.parametrize("others", [0, 1])
def test_a_mistake_meanwhile_does_not_save_the_outputs_of_a_vanished_manifest(village, others):
    text = village.read("manifests/toy.toml")
    for stem in ["other"] * others + ["two"]:
        village.write(f"manifests/{stem}.toml", text)
    village.doit()
    village.remove("manifests/two.toml")
    village.write("manifests/toy.toml", text + b"zzz = 1\n")
    assert village.doit().code == 3
    village.write("manifests/toy.toml", text)
    assert "removed   build/two/" in village.doit().out
    assert [path for path in village.outputs() if path.startswith("build/two/")] == []
    assert "nothing to do" in village.doit().out


def test_unselected_manifests_stay_as_they_are(village):
    village.write("manifests/second.toml", 'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\n')
    village.doit()
    village.write("assets/a.txt", "changed")
    assert village.doit("second").built == ["second:a", "second:pack"]
    assert village.read("build/toy/a.out") == b"HELLO"
    ran = village.doit()
    assert (ran.built, ran.restored) == (["toy:pack"], ["toy:a"])
    assert village.read("build/toy/a.out") == b"CHANGED"


def test_a_run_with_nothing_to_do_imports_nothing_that_it_can_do_without(game):
    game.write("assets/a.txt", "a")
    text = game.read("dodo.py").decode()
    heavy = (
        "numpy",
        "tomllib",
        "pipeline.process.pool",
        "difflib",
        "encoders.kit",
        "pipeline.build.build",
    )
    game.write(
        "dodo.py",
        f"{text}\nimport atexit, sys\n"
        f"atexit.register(lambda: print('imported', [n for n in {heavy!r} if n in sys.modules]))\n",
    )
    assert game.process().code == 0
    ran = game.process()
    assert "nothing to do" in ran.out
    assert ran.out.splitlines()[-1] == "imported ['encoders.kit']"
