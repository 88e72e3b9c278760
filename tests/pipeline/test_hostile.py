"""Histories that people, crashes and file systems come up with, each once the cause of a bug."""

from __future__ import annotations

import hashlib
import os
import re
import runpy
import subprocess
import sys
import threading

import pytest

import encoders
import pipeline.disk.file
import pipeline.plan.survey
from pipeline.build.work import do_job
from pipeline.cache.local import Cache
from pipeline.disk.lock import Lock
from pipeline.process.pool import Pool
from pipeline.project import Project
from pipeline.session import Session
from tests.pipeline.game import MANIFEST, Game


@pytest.fixture
def village(game: Game) -> Game:
    """A game with some of everything, not built yet."""
    sources = {"a.txt": "hello", "b.txt": "bye", "l.lst": "one\ntwo\n", "w.bst": "x y z"}
    for name, text in sources.items():
        game.write(f"assets/{name}", text)
    return game


def test_a_forgotten_node_that_comes_out_otherwise_reaches_its_readers(village):
    village.doit()
    village.doit("forget", "toy:a")
    assert "toy:pack  source changed: toy:a" in village.doit("explain").out
    village.write("assets/a.txt", "something longer")
    assert village.doit().built == ["toy:a", "toy:pack"]
    assert village.read("build/toy/all.pack") == b"a=16\nb=3\n"


@pytest.mark.parametrize("leads_to", ["odd", "a.txt/beneath", "x" * 300, "nowhere"])
def test_a_link_that_leads_nowhere_hides_nothing_beside_it(village, leads_to):
    os.symlink(leads_to, village.path("assets/odd"))
    ran = village.doit()
    assert (ran.code, len(ran.built)) == (0, 7)


@pytest.mark.parametrize("command", ["explain", "list", "clean", "reset-dep"])
def test_a_command_may_come_before_the_first_build(village, command):
    ran = village.doit(command)
    assert (ran.code, ran.err) == (0, "")


def test_explain_calls_everything_new_before_the_first_build(village):
    assert village.doit("explain", "toy:a").out == "toy:a  new\n"


def test_a_folder_that_becomes_a_link_is_no_longer_passed_through(village):
    village.write("assets/sub/c.txt", "inside")
    village.doit()
    os.rename(village.path("assets/sub"), village.path("elsewhere"))
    os.symlink("../elsewhere", village.path("assets/sub"))
    assert village.doit().code == 0
    assert not village.path("build/toy/sub").exists()
    assert village.read("build/toy/all.pack") == b"a=5\nb=3\n"


def test_a_linked_folder_that_is_led_out_of_the_project_is_refused(village, tmp_path):
    village.write("shared/deep/x.txt", "hello")
    os.symlink("../shared", village.path("assets/linked"))
    entry = '[[asset]]\nsource = "assets/linked/*/*.txt"\n'
    village.write("manifests/toy.toml", f'target = "toy"\n{entry}')
    assert village.doit().code == 0
    (tmp_path / "outside/deep").mkdir(parents=True)
    (tmp_path / "outside/deep/x.txt").write_text("hushh")
    village.path("assets/linked").unlink()
    os.symlink(tmp_path / "outside", village.path("assets/linked"))
    ran = village.doit()
    assert ran.code == 3
    assert "leads out of the project" in ran.err


def test_a_source_that_becomes_a_link_out_of_the_project_is_refused(village, tmp_path):
    village.write("notes.dat", "a note")
    entry = '[[asset]]\nsource = "assets/a.txt"\nbeside = "notes.dat"\n'
    village.write("manifests/toy.toml", f'target = "toy"\n{entry}')
    assert village.doit().code == 0
    (tmp_path / "outside.dat").write_text("hush")
    village.path("notes.dat").unlink()
    os.symlink(tmp_path / "outside.dat", village.path("notes.dat"))
    ran = village.doit()
    assert ran.code == 3
    assert "leads out of the project" in ran.err


def test_a_renamed_manifest_can_be_built_by_itself(village):
    village.write("manifests/toy.toml", f'output = "build/x"\n{MANIFEST}')
    village.doit()
    os.rename(village.path("manifests/toy.toml"), village.path("manifests/town.toml"))
    assert village.doit("town").code == 0
    assert village.doit().code == 0
    assert village.read("build/x/all.pack") == b"a=5\nb=3\n"


def test_two_manifests_can_swap_their_output_folders(village):
    low = MANIFEST + 'case = "lower"\nkinds = ["text"]\n'
    for toy, zoo in (("x", "y"), ("y", "x")):
        village.write("manifests/toy.toml", f'output = "build/{toy}"\n{MANIFEST}')
        village.write("manifests/zoo.toml", f'output = "build/{zoo}"\n{low}')
        assert village.doit().code == 0
        assert village.read(f"build/{toy}/a.out") == b"HELLO"
        assert village.read(f"build/{zoo}/a.out") == b"hello"
        assert not village.path(f"build/{zoo}/l").exists()


def test_an_asset_can_go_from_one_manifest_to_another_that_shares_its_folder(village):
    entry = 'target = "toy"\noutput = "build/x"\n[[asset]]\nsource = "assets/{}"\n'
    for toy, zoo in (("l.lst", "w.bst"), ("w.bst", "l.lst")):
        village.write("manifests/toy.toml", entry.format(toy))
        village.write("manifests/zoo.toml", entry.format(zoo))
        assert village.doit().code == 0
        assert village.read("build/x/l/0.line") == b"one"
        assert village.read("build/x/w_0.part") == b"x"


def test_a_member_that_a_family_lost_stays_when_somebody_altered_it(village):
    village.doit()
    village.write("build/toy/w_2.part", "mine")
    village.write("assets/w.bst", "x y")
    assert "w_2.part: nothing makes it any more; altered, so it stays" in village.doit().out
    assert village.read("build/toy/w_2.part") == b"mine"


@pytest.fixture
def at_home(monkeypatch):
    """Forget a game's own encoders after a test that uses the engine without doit."""
    monkeypatch.setattr(encoders, "__path__", list(encoders.__path__))
    yield
    sys.modules.pop("encoders.toy", None)


@pytest.mark.usefixtures("at_home")
def test_a_file_that_another_node_just_made_is_not_taken_for_a_stale_one(village):
    for toy, zoo in (("x", "y"), ("z", "x")):
        village.write("manifests/toy.toml", f'output = "build/{toy}"\n{MANIFEST}')
        village.write("manifests/zoo.toml", f'output = "build/{zoo}"\n{MANIFEST}')
        build = Session(Project(str(village.root), print)).begin(["toy", "zoo"], map, always=False)
        tasks = ["zoo:a", "toy:a"]
        results = {task: do_job(build.prepare(task)) for task in tasks}
        for task in reversed(tasks):
            build.record(task, results[task])
        build.close()
        build.project.close()
    assert village.read("build/x/a.out") == b"HELLO"
    assert village.doit().code == 0


KILLED = """
import os, pipeline.state.database, pipeline.build.work
from doit.doit_cmd import DoitMain
from pipeline.build.build import Build

def do_and_die(job, do=pipeline.build.work.do_job, left=list(range({nodes}))):
    result = do(job)
    left.pop()
    return result if left else os._exit(9)

pipeline.state.database.BATCH_SECONDS = {batch_s}
pipeline.build.work.do_job = do_and_die
Build.close = lambda _: os._exit(9)
DoitMain().run([])
"""


def kill_after(game, nodes, batch_s=60):
    """Build in a process that dies when so many nodes have their files in place, or all."""
    command = [sys.executable, "-c", KILLED.format(nodes=nodes, batch_s=batch_s)]
    done = subprocess.run(
        command, cwd=game.root, env=game.environment(), capture_output=True, check=False
    )
    assert done.returncode == 9


def test_what_a_killed_build_put_in_place_goes_when_its_source_does(village):
    kill_after(village, 2)
    for name in ("a.txt", "b.txt"):
        village.remove(f"assets/{name}")
    village.doit()
    assert not [path for path in village.outputs() if path.endswith(".out")]


def test_what_a_killed_build_put_over_an_older_file_goes_when_its_source_does(village):
    village.doit()
    village.write("assets/a.txt", "otherwise")
    kill_after(village, 1)
    assert village.read("build/toy/a.out") == b"OTHERWISE"
    village.remove("assets/a.txt")
    village.doit()
    assert not village.path("build/toy/a.out").exists()


def test_gc_after_a_kill_still_knows_what_the_killed_build_put_in_place(village):
    kill_after(village, 2)
    for name in ("a.txt", "b.txt"):
        village.remove(f"assets/{name}")
    village.doit("gc")
    village.doit()
    assert not [path for path in village.outputs() if path.endswith(".out")]


def test_what_a_killed_build_left_half_written_goes_with_the_next_build(village):
    kill_after(village, 2)
    village.write(".cartwright/tmp/123-half-0", "half")
    village.doit("explain")
    assert os.listdir(village.path(".cartwright/tmp"))
    village.doit()
    assert os.listdir(village.path(".cartwright/tmp")) == []


@pytest.mark.parametrize("nodes", [3, 99])
def test_an_output_of_a_killed_build_that_is_altered_is_restored(village, nodes):
    kill_after(village, nodes, batch_s=0)
    village.write("build/toy/a.out", "tampered")
    assert village.doit().code == 0
    assert village.read("build/toy/a.out") == b"HELLO"
    assert re.match(r"toy: 7 unchanged, \d+ B in build/toy\nnothing to do", village.doit().out)


@pytest.mark.parametrize("name", ["a\nline", "a\u2028line"])
def test_a_lost_state_still_knows_outputs_with_a_line_break_in_their_names(village, name):
    village.write(f"assets/{name}.txt", "hello")
    village.doit()
    village.remove(".cartwright/state.db")
    village.remove(f"assets/{name}.txt")
    village.doit()
    assert not village.path(f"build/toy/{name}.out").exists()


def repeat(text, times):
    return text * times


def test_long_calls_and_long_answers_do_not_wait_for_one_another(tmp_path):
    pool = Pool(1, str(tmp_path))
    watchdog = threading.Timer(20, pool.kill)
    watchdog.start()
    try:
        lengths = [len(one) for one in pool.map(repeat, [("y" * 1_000_000, 2)] * 4)]
    finally:
        watchdog.cancel()
        pool.kill()
    assert lengths == [2_000_000] * 4


OWN_ERROR = """
class OwnError(EncodeError):
    def __init__(self, file):
        super().__init__("not mine", {"file": file}, "Mend it.")
        self.lock = __import__("threading").Lock()
"""


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("raised", "said"),
    [("OwnError('source')", "toy:a  not mine\n"), ("SystemExit(0)", "toy:a  SystemExit: 0\n")],
)
def test_an_error_of_any_class_fails_one_node_only(village, workers, raised, said):
    code = village.read("encoders/toy.py").decode()
    deed = f'    if inputs["source"] == b"hello":\n        raise {raised}\n'
    head = "def encode_text(inputs, params):\n"
    village.write("encoders/toy.py", code.replace(head, OWN_ERROR + head + deed))
    ran = village.doit("-n", workers)
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack"])
    assert said in ran.out
    assert len(ran.built) == 5


ENTRY = 'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ENTRY + 'id = ["a"]\n', 'asset[1].id  found ["a"]'),
        (ENTRY + "id = 5\n", "asset[1].id  found 5"),
        (ENTRY + 'kinds = [["text"]]\n', "asset[1].kinds  unknown kind"),
        ('target = "plain"\n', "target  encoders.plain declares no TARGET"),
        (ENTRY.replace("a.txt", "y" * 300 + "/a.txt"), "there is no such file"),
    ],
)
def test_a_mistake_of_any_type_is_an_error_that_says_where(village, text, said):
    village.write("encoders/plain.py", "answer = 42\n")
    village.write("manifests/toy.toml", text)
    ran = village.doit()
    assert (ran.code, "Traceback" in ran.err) == (3, False)
    assert said in ran.err


def test_a_manifest_that_cannot_be_read_is_an_error_of_its_own_only(village):
    os.symlink("nowhere", village.path("manifests/odd.toml"))
    ran = village.doit()
    assert (ran.code, "Traceback" in ran.err) == (3, False)
    assert "manifests/odd.toml  1 mistake\n  file  No such file or directory" in ran.err
    assert village.doit("toy").code == 0


@pytest.mark.parametrize("place", ["odd\udcff.txt", "odd\udcff/c.txt"])
def test_a_name_that_is_no_text_is_an_error_that_shows_it(village, place):
    village.write(f"assets/{place}", "hello")
    ran = village.doit()
    assert (ran.code, "Traceback" in ran.err) == (3, False)
    assert '"assets/odd?' in ran.err


@pytest.mark.parametrize("command", ["run", "explain", "list", "gc"])
def test_a_file_in_place_of_a_folder_of_our_own_is_named(village, command):
    village.write(".cartwright", "a file")
    ran = village.doit(command)
    assert (ran.code, "Traceback" in ran.err) == (3, False)
    assert ".cartwright/tmp: Not a directory" in ran.err


def test_gc_survives_a_damaged_state(village):
    village.doit()
    path = village.path(".cartwright/state.db")
    data = bytearray(path.read_bytes())
    data[4096::7] = b"\x55" * len(data[4096::7])
    path.write_bytes(bytes(data))
    assert village.doit("gc").code == 0
    assert village.doit().code == 0


@pytest.mark.parametrize("content", [b"garbage\n", None])
def test_gc_with_a_lost_state_still_knows_what_are_outputs(village, content):
    village.doit()
    village.remove(".cartwright/state.db")
    if content is not None:
        village.write(".cartwright/state.db", content)
    village.remove("assets/a.txt")
    village.doit("gc")
    village.doit()
    assert not village.path("build/toy/a.out").exists()


@pytest.mark.parametrize("text", ['{"toy:a": 5}', '{"toy:a": [1]}', "[]", "5"])
def test_damaged_records_of_doit_cost_nothing(village, text):
    village.doit()
    village.write(".cartwright/doit.json", text)
    village.write("assets/a.txt", "other")
    assert village.doit().built == ["toy:a"]


def test_storing_an_object_heals_a_damaged_one(tmp_path):
    cache, data = Cache(str(tmp_path)), b"x" * 100_000
    sha = hashlib.sha256(data).hexdigest()
    cache.store_object(sha, data)
    next(tmp_path.glob(f"*/objects/{sha[:2]}/{sha[2:]}")).write_bytes(b"damaged")
    cache.store_object(sha, data)
    assert cache.load_object(sha) == data


def test_processes_of_one_number_on_two_machines_write_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 7)
    used = []
    monkeypatch.setattr(os, "replace", lambda temporary, _: used.append(temporary))
    for _ in range(2):
        files = runpy.run_path(pipeline.disk.file.__file__)
        files["write_whole"](str(tmp_path / "file"), b"data", str(tmp_path))
    assert len(set(used)) == 2


def test_a_source_that_is_saved_while_it_is_surveyed_spoils_no_survey(village, monkeypatch):
    survey, text = pipeline.plan.survey.survey_file, "one\ntwo\nthree\n"

    def save_and_survey(root, name, dotted):
        if name.endswith("l.lst"):
            village.write(name, text)
        return survey(root, name, dotted)

    with monkeypatch.context() as context:
        context.setattr("pipeline.plan.survey.survey_file", save_and_survey)
        village.doit()
    village.write("assets/l.lst", "one\ntwo\n")
    village.doit()
    assert sorted(path.name for path in village.path("build/toy/l").iterdir()) == [
        "0.line",
        "1.line",
    ]


def test_a_name_that_looks_like_a_pattern_is_built_before_what_reads_it(village):
    village.write("assets/a[1]*b.txt", "odd")
    assert village.doit().code == 0
    assert village.read("build/toy/all.pack") == b"a=5\na[1]*b=3\nb=3\n"


def test_a_node_that_holds_again_is_not_called_dirty(village):
    village.doit()
    for text in ("much longer", "hello"):
        village.write("assets/a.txt", text)
        village.doit("toy:a")
    assert village.doit("explain").out == ""
    assert "nothing to do" in village.doit().out


TEXTS = 'target = "toy"\nsource_root = "."\noutput = "{}"\n[[asset]]\nsource = "**/*.txt"\n'


def test_outputs_that_are_about_to_go_are_no_sources(village):
    code = (
        village.read("encoders/toy.py").decode().replace("{asset.place}.out", "{asset.place}.txt")
    )
    village.write("encoders/toy.py", code)
    for folder in ("here", "there"):
        village.write("manifests/toy.toml", TEXTS.format(folder))
        assert village.doit().code == 0
        assert sorted(village.outputs(folder)) == [
            f"{folder}/all.pack",
            f"{folder}/assets/a.txt",
            f"{folder}/assets/b.txt",
        ]
    village.write("here/assets/b.txt", "a source that lies where an output was")
    assert village.doit().built == ["toy:here/assets/b", "toy:pack"]


def test_what_lies_in_a_folder_of_outputs_is_no_source_however_it_is_named(village):
    village.write("assets/sub/c.txt", "deep")
    village.doit()
    village.write("build/toy/sub/c.txt", "mine")
    for source in ("build/toy/sub/*.txt", "build/toy/*/c.txt"):
        entry = f'target = "toy"\n[[asset]]\nsource = "{source}"\n'
        village.write("manifests/more.toml", entry)
        assert "matches nothing" in village.doit("more").out


def test_a_file_that_another_node_needs_as_a_folder_is_a_collision(village):
    village.write("assets/x.txt", "a file")
    village.write("assets/x.out.lst", "in a folder\n")
    ran = village.doit()
    assert ran.code == 3
    assert (
        "toy:x (assets/x.txt) would write build/toy/x.out, "
        "where toy:x.out.0 (assets/x.out.lst) needs a folder" in ran.err
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_no_source(village):
    os.mkfifo(village.path("assets/pipe.txt"))
    assert len(village.doit().built) == 7


@pytest.mark.parametrize("names", [[], ["toy"]])
def test_a_member_that_a_family_lost_together_with_the_state_goes(village, names):
    village.doit()
    village.remove(".cartwright/state.db")
    village.write("assets/w.bst", "x y")
    village.doit(*names)
    village.doit()
    assert not village.path("build/toy/w_2.part").exists()


def test_a_member_that_only_a_killed_build_made_goes_when_its_source_is_reverted(village):
    village.doit()
    village.write("assets/w.bst", "x y z more")
    kill_after(village, 1)
    assert village.path("build/toy/w_3.part").exists()
    village.write("assets/w.bst", "x y z")
    village.doit()
    assert not village.path("build/toy/w_3.part").exists()


def test_a_command_line_that_is_refused_lets_go_of_the_project(village):
    assert village.doit("toy:nope").code == 3
    with Lock(str(village.path(".cartwright/lock")), on_wait=pytest.fail):
        pass


LATE = """
from encoders.kit.plan import Kind, Node, Source, Target


def plan(asset, surveys, settings):
    inputs = {"source": Source(asset.source)}
    yield Node(asset.name, "encoders.own:encode", inputs, {}, {"text": f"{asset.place}.out"})


def encode(inputs, params):
    import pathlib
    later = pathlib.Path(__file__).with_name("late.py")
    later.write_text(later.read_text().replace("old", "new"))
    from encoders.late import WORD
    return {"text": WORD}


TARGET = Target(kinds={"own": Kind((".own",))}, plan=plan)
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_code_that_is_loaded_late_is_the_code_that_was_digested(game, workers):
    game.write("encoders/own.py", LATE)
    game.write("encoders/late.py", "WORD = b'old'\n")
    game.write("manifests/own.toml", 'target = "own"\n[[asset]]\nsource = "assets/*.own"\n')
    game.write("assets/a.own", "a")
    ran = game.process(*workers)
    assert (ran.code, ran.failed) == (1, ["own:a"])
    assert "code changed while the build was running" in ran.out
    assert not game.path("build/own/a.out").exists()
    assert game.process().code == 0
    assert game.read("build/own/a.out") == b"new"


BUFFERS = {
    "array": "__import__('array').array('H', range(700))",
    "view": "memoryview(bytes(range(256)) * 8).cast('I')",
    "bytearray": "bytearray(b'abc')",
    "numpy": "__import__('numpy').arange(500, dtype='<u4')",
}


def let_lines_be(game, made):
    target = game.read("encoders/toy.py").decode()
    start, end = target.index("def encode_line"), target.index("def encode_burst")
    body = f'def encode_line(inputs, params):\n    return {{"line": {made}}}\n\n\n'
    game.write("encoders/toy.py", target[:start] + body + target[end:])


@pytest.mark.parametrize("made", BUFFERS.values(), ids=BUFFERS)
def test_an_output_may_be_any_buffer_and_is_restored_as_it_was(village, made):
    let_lines_be(village, made)
    assert village.process().code == 0
    before = village.outputs()
    assert before["build/toy/l/0.line"] == bytes(memoryview(eval(made)).cast("B"))
    village.remove("build")
    assert "toy:l.0" in village.process().restored
    assert village.outputs() == before


@pytest.mark.parametrize("made", ["'text'", "5", "None", "[1]"])
def test_an_output_that_is_no_bytes_is_refused_by_its_role(village, made):
    let_lines_be(village, made)
    ran = village.process()
    assert (ran.code, ran.failed) == (1, ["toy:l.0", "toy:l.1"])
    assert 'TypeError: output "line" is a ' in ran.out


def test_a_source_that_goes_away_during_the_build_is_named(village, monkeypatch):
    do = do_job

    def lose_and_do(job):
        if job.task == "toy:a":
            village.remove("assets/a.txt")
        return do(job)

    monkeypatch.setattr("pipeline.build.work.do_job", lose_and_do)
    ran = village.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack"])
    assert "toy:a  file went away while the build was running" in ran.out
    assert "assets/a.txt" in ran.out


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_file_of_somebody_else_in_an_outputs_place_is_moved_and_told(village, workers):
    village.write("build/toy/a.out", "mine")
    village.write("build/toy/all.pack", "mine too")
    ran = village.process(*workers)
    assert ran.code == 0
    assert village.read("build/toy/a.out") == b"HELLO"
    assert village.read(".cartwright/displaced/build/toy/a.out") == b"mine"
    assert village.read(".cartwright/displaced/build/toy/all.pack") == b"mine too"
    assert "2 files of somebody else moved out of an output's place: now below" in ran.out
    village.remove("manifests/toy.toml")
    village.process()
    assert village.read(".cartwright/displaced/build/toy/a.out") == b"mine"


def test_a_second_file_in_the_way_does_not_replace_the_first(village):
    for text in ("one", "two"):
        village.write("build/toy/a.out", text)
        village.write("manifests/toy.toml", MANIFEST)
        village.doit()
        village.remove(".cartwright/outputs")
        village.remove("manifests/toy.toml")
        village.doit()
    moved = village.path(".cartwright/displaced/build/toy")
    assert {path.read_text() for path in moved.iterdir()} >= {"one", "two"}


def test_a_file_that_somebody_puts_where_an_output_was_before_is_moved(village):
    village.doit()
    village.remove("manifests/toy.toml")
    village.doit()
    village.write("build/toy/a.out", "mine")
    village.write("manifests/toy.toml", MANIFEST)
    village.doit()
    assert village.read(".cartwright/displaced/build/toy/a.out") == b"mine"


def test_an_output_that_was_altered_is_put_right_and_not_kept(village):
    village.doit()
    village.write("build/toy/a.out", "altered")
    ran = village.doit()
    assert (ran.code, ran.restored) == (0, ["toy:a"])
    assert not village.path(".cartwright/displaced").exists()


def test_what_a_killed_build_left_is_ours_without_the_state(village):
    village.doit()
    village.remove(".cartwright/state.db")
    village.write("assets/a.txt", "changed")
    assert village.doit().code == 0
    assert not village.path(".cartwright/displaced").exists()


COMMANDS = ["run", "list", "explain", "clean"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", ["build/toy/q\udcff.bak", "assets/q\udcff.bak"])
def test_a_file_of_nobody_whose_name_is_no_text_is_in_nobodys_way(village, place, command):
    village.doit()
    for text in ("mine", "mine again"):
        village.write(place, text)
        ran = village.doit(command)
        assert (ran.code, ran.err.replace("Everything is up to date.\n", "")) == (0, "")
        assert village.doit().code == 0
    assert village.read(place) == b"mine again"


def test_a_file_whose_name_is_no_text_can_go_with_the_outputs(village):
    village.write("build/toy/q\udcff.bak", "mine")
    village.doit()
    village.remove("build")
    ran = village.doit()
    assert (ran.code, len(ran.restored)) == (0, 7)
    assert "nothing to do" in village.doit().out


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("built_before", [False, True])
def test_a_manifest_whose_name_is_no_text_is_an_error_that_shows_it(village, command, built_before):
    if built_before:
        village.doit()
    village.write("manifests/odd\udcff.toml", MANIFEST)
    ran = village.doit(command)
    assert (ran.code, "Traceback" in ran.err) == (3, False)
    assert "manifests/odd?.toml  1 mistake\n  file name  it is not UTF-8; rename it" in ran.err
    assert village.doit("toy").code == 0


@pytest.mark.parametrize("command", [*COMMANDS, "gc"])
def test_a_project_whose_path_is_no_text_is_an_error_that_shows_it(tmp_path, command):
    game = Game(tmp_path / "odd\udcff")
    game.write("assets/a.txt", "a")
    ran = game.doit(command)
    assert (ran.code, "Traceback" in ran.err) == (3, False)
    assert "odd?: the path of a project has to be UTF-8" in ran.err
    assert not game.path(".cartwright").exists()


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_word_that_is_no_text_names_no_task(village, command):
    village.doit()
    for word in ("odd\udcff", "toy:odd\udcff", "build/toy/odd\udcff"):
        ran = village.doit(command, word)
        assert (ran.code, "Traceback" in ran.err) == (3, False)


def test_a_reference_that_is_no_text_fails_its_asset_only(village):
    code = village.read("encoders/toy.py").decode()
    code = code.replace('"refs": sorted(set(refs))', '"refs": ["q\\udcff"] if refs else []')
    village.write("encoders/toy.py", code)
    village.write("assets/a.txt", "ref some\n")
    village.write("assets/q\udcff", "there")
    ran = village.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack", "toy:parts"])
    assert "toy:a  a file that it refers to is not named in UTF-8\n" in ran.out
    assert len(ran.built) == 4
