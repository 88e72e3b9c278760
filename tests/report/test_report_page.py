"""`doit report`: a page about everything, made again only where something changed."""

from __future__ import annotations

import io
import json
import random
import re
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.plan import Reader
from pipeline.report.page import document, media
from pipeline.report.page.document import fill_page, page_index, whole_page
from pipeline.report.page.media import PageMedia
from pipeline.report.page.media_store import KEPT_SECONDS, MediaStore
from pipeline.report.page.page_data import PageData, PageEntry, PageNode
from pipeline.report.page.picture import Media, media_of_output, media_of_source, picture_media
from tests.pipeline.game import Game
from tests.report.conftest import MANIFESTS, is_webp, make_game, paint
from tests.report.part import Page, parts, unpack

MESH_ALONE = """target = "emberware"
[game]
id = "game"
title = "A game"
author = "us"
version = "1"
[[asset]]
source = "assets/box.obj"
kinds = ["mesh"]
"""


@pytest.fixture(scope="module")
def page(built: Game) -> Page:
    return Page(built)


def test_every_source_and_every_pack_has_an_entry(page):
    names = {one["name"] for one in page.index["entries"]}
    files = ("box.obj", "wood.png", "leaf.png", "tone.wav", "hero.glb")
    sources = {f"assets/{name}" for name in files}
    assert names == {*sources, "emberware:game.ewz", "rp2350:mod.rs"}


def test_every_node_of_the_build_is_in_one_entry(built, page):
    result = json.loads(built.read(".cartwright/last-build.json"))
    numbers = sorted(number for one in page.index["entries"] for number in one["nodes"])
    assert numbers == list(range(len(result["nodes"])))
    assert {one["task"] for one in page.index["nodes"]} == {one["task"] for one in result["nodes"]}


@pytest.mark.parametrize("task", ["kac:box", "rp2350:leaf", "emberware:tone", "emberware:wood"])
def test_a_node_shows_a_picture_beside_that_of_its_source(page, task):
    number = page.number(task)
    entry = next(one for one in page.index["entries"] if number in one["nodes"])
    assert is_webp(page.picture(entry["picture"]))
    assert is_webp(page.picture(page.node(task)["picture"]))


def test_the_picture_of_a_texture_has_its_colour(page):
    picture = Image.open(io.BytesIO(page.picture(page.node("rp2350:leaf")["picture"])))
    red, green, blue = picture.convert("RGB").getpixel((30, 30))
    assert (abs(red - 40) < 20, abs(green - 140) < 20, abs(blue - 50) < 20) == (True, True, True)


def test_models_and_sounds_can_be_opened(page):
    assert unpack(page.parts[f"glb-{page.detail('kac:box')['glb']}"]).startswith(b"glTF")
    assert unpack(page.parts[f"sound-{page.detail('emberware:tone')['sound']}"])[8:12] == b"WAVE"
    assert b"THREE.GLTFLoader" in unpack(page.parts["viewer"])


def test_a_node_tells_options_reason_files_and_neighbours(page):
    more = page.detail("kac:box")
    assert (more["reason"], more["options"]["shading"]) == ("new", "auto")
    assert [path for path, _ in more["inputs"]] == [
        "assets/box.mtl",
        "assets/box.obj",
        "assets/wood.png",
    ]
    assert [path for path, *_ in more["outputs"]] == ["build/kac/box.kac"]
    assert "emberware:game.ewz" in page.detail("emberware:wood")["used_by"]
    assert "emberware:wood" in page.detail("emberware:game.ewz")["needs"]


def test_the_map_of_vram_names_textures_that_do_not_overlap(page):
    chart = page.detail("splashpack:yard/layout")["chart"]
    textures = [one for one in chart["areas"] if one["kind"] == "texture"]
    assert any(one["name"].startswith("assets/wood.png, 64 x 64") for one in textures)
    taken = set()
    for one in chart["areas"]:
        if one["kind"] != "reserved":
            cells = {
                (x, y)
                for x in range(one["x"], one["x"] + one["width"])
                for y in range(one["y"], one["y"] + one["height"])
            }
            assert not taken & cells
            taken |= cells


def test_the_map_of_tiles_has_the_triangles_of_every_file(built, page):
    chart = page.detail("untold:yard")["chart"]
    assert len(chart["tiles"]) > 1
    for tile in chart["tiles"]:
        shown = json.loads(
            built.doit("inspect", "--json", f"build/untold/yard/{tile['name']}.untold").out
        )
        assert tile["levels"][0]["triangles"] == shown["triangles"]


def test_the_palette_of_a_texture_has_its_colour(page):
    colors = page.detail("splashpack:yard/texture/wood")["chart"]["colors"]
    assert colors[0] == "#9c6b39ff"  # (160, 110, 60) in 5 bits a channel


def test_sizes_count_what_the_platform_runs_out_of(page):
    manifests = {one["stem"]: one for one in page.index["manifests"]}
    rom = manifests["emberware"]
    assert (rom["what"], rom["used"]) == ("ROM", page.node("emberware:game.ewz")["bytes"])
    parts = {name for name in rom["parts"] if "hero" not in name}
    assert parts == {"emberware:tone", "emberware:wood"}  # not the ROM, which repeats them


def test_a_page_asks_no_other_host(page):
    shell = fill_page().decode()
    assert set(re.findall(r"https?://[^\s\"'`]+", shell)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page.text


def test_a_name_cannot_end_the_element_that_holds_it():
    name = "</script><script>alert(1)</script>"
    data = PageData(result(), [], [PageEntry(name, name, [])])
    text = whole_page(data, PageMedia({}), name).decode()
    assert "alert(1)</script>" not in text
    assert json.loads(parts(text)["index"])["entries"][0]["name"] == name


def result(nodes=()):
    times = {"started": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "exit_code": 0}
    return {**times, "cartwright": "1", "manifests": [], "nodes": list(nodes)}


def test_a_page_of_5000_nodes_stays_below_20_megabytes(tmp_path):
    text = large_page()
    assert len(text) < 20_000_000
    assert len(json.loads(parts(text.decode())["index"])["nodes"]) == 5000


def failed_page() -> bytes:
    """Return a page with one failure and one warning, whose names have no space."""
    task, path = f"splashpack:{'stairs_wall_right' * 5}/texture", f"assets/{'dungeon' * 12}.png"
    return page_of_failures([failure(task, "not_a_picture" * 6, path)], "village" * 12)


def failure(task: str, problem: str, path: str) -> PageEntry:
    """Return an entry with a node that failed, and a warning."""
    node = {
        "task": task,
        "outcome": "failed",
        "warnings": [f"[resize] {path}"],
        "error": {"problem": problem, "facts": {"file": path}, "hint": "Resize it."},
        "reason": [],
    }
    inputs = [{"path": path, "bytes": 500, "sha256": "0" * 64}]
    node |= {"inputs": inputs, "outputs": [], "peak_bytes": 0, "seconds": 0.01}
    one = PageNode(task, task.partition(":")[0], node, None, 0.01, "new", {}, [])
    return PageEntry(path, path, [one], 500)


def page_of_failures(entries: list[PageEntry], name: str) -> bytes:
    return whole_page(PageData(result(), [], entries), PageMedia({}), name)


def test_a_model_is_in_the_page_if_it_is_small_when_packed(monkeypatch):
    monkeypatch.setattr(document, "MEDIA_LIMIT", 3000)
    chance = random.Random(1)
    found = {"even": Media(glb=bytes(9000)), "rough": Media(glb=chance.randbytes(9001))}
    text = whole_page(PageData(result(), [], []), PageMedia(found), "village").decode()
    assert [name for name in parts(text) if name.startswith("glb-")] == ["glb-even"]


def large_page() -> bytes:
    """Return a page with 5,000 nodes, each with a source, and pictures of a real size."""
    import numpy as np

    random = np.random.default_rng(1)
    noise = [random.integers(0, 255, (16, 16, 3)) for _ in range(20)]
    pictures = [
        picture_media(Image.fromarray(np.kron(one, np.ones((8, 8, 1))).astype(np.uint8)))
        for one in noise
    ]
    entries, found = [], {}
    for number in range(5000):
        task = f"kac:props/thing_{number:04}"
        file = {"path": f"build/kac/props/thing_{number}.kac", "bytes": 900, "sha256": "0" * 64}
        node = {"task": task, "outcome": "built", "warnings": [], "error": None, "reason": []}
        node |= {"inputs": [], "outputs": [file], "peak_bytes": 0, "seconds": 0.01}
        keys = f"s{number:019}", f"n{number:019}"
        one = PageNode(
            task, "kac", node, None, 0.01, "new", {"shading": "auto"}, [], picture=keys[1]
        )
        path = f"assets/props/thing_{number:04}.obj"
        entries.append(PageEntry(path, path, [one], 500, picture=keys[0]))
        found |= dict.fromkeys(keys, pictures[number % 20])
    return whole_page(PageData(result(), [], entries), PageMedia(found), "large")


def test_a_second_report_draws_only_what_changed(tmp_path, monkeypatch):
    game = make_game(tmp_path / "village")
    for name in ("kac", "splashpack", "untold", "emberware"):
        game.remove(f"manifests/{name}.toml")
    assert game.doit().code == 0
    drawn: list[str] = []
    draw = media.draw
    monkeypatch.setattr(media, "draw", lambda root, one: drawn.append(one.path) or draw(root, one))
    assert game.doit("report").code == 0
    assert "assets/leaf.png" in drawn
    before = Page(game)
    drawn.clear()
    assert game.doit("report").code == 0
    assert drawn == []
    paint(game, "assets/leaf.png", (200, 0, 0))
    assert game.doit().code == 0
    assert game.doit("report", "--out", "build/again.html").code == 0
    assert drawn
    assert all("leaf" in path or path == "build/rp2350/mod.rs" for path in drawn)
    after = Page(game, "build/again.html")
    assert after.node("rp2350:leaf")["picture"] != before.node("rp2350:leaf")["picture"]
    assert after.node("rp2350:wood")["picture"] == before.node("rp2350:wood")["picture"]


def test_the_second_file_of_a_node_is_drawn_where_the_first_shows_nothing(tmp_path, monkeypatch):
    drawn: list[str] = []

    def draw(root, one):
        del root
        drawn.append(one.path)
        return (Media() if one.path == "b/a.rs" else Media(b"picture", b"picture")), []

    monkeypatch.setattr(media, "draw", draw)
    files = [
        {"path": f"b/{name}", "bytes": 1, "sha256": "0"} for name in ("a.rs", "a.bin", "a.more")
    ]
    shown = PageNode("t:a", "t", {"inputs": [], "outputs": files}, None, 0, "", {}, [])
    data = PageData(result([shown.result]), [{"stem": "t", "target": "t"}], [entry_of(shown)])
    with MediaStore(str(tmp_path / "media.db")) as store:
        found = media.draw_all(SimpleNamespace(root=str(tmp_path)), data, store, "code", map)
    assert drawn == ["b/a.rs", "b/a.bin"]
    assert found.find(shown.picture).thumbnail == b"picture"


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("splashpack", ("yard.splashpack", "yard.vram.png")),
        ("splashpack", ("scene_0.splashpack", "scene_0.spu", "scene_0.vram")),
        ("rp2350", ("wood.rs", "wood_bc1.bin")),
        ("rp2350", ("barrel.rs", "barrel_patch0.bin", "barrel_patch0.rs")),
    ],
)
def test_the_file_that_stands_for_a_node_is_its_picture(tmp_path, monkeypatch, target, names):
    picture = Media(b"picture", b"picture")
    drawn: list[str] = []
    monkeypatch.setattr(media, "draw", lambda root, one: drawn.append(one.path) or (picture, []))
    files = [{"path": f"b/{name}", "bytes": 1, "sha256": "0"} for name in reversed(names)]
    shown = PageNode("t:a", "t", {"inputs": [], "outputs": files}, None, 0, "", {}, [])
    data = PageData(result([shown.result]), [{"stem": "t", "target": target}], [entry_of(shown)])
    with MediaStore(str(tmp_path / "media.db")) as store:
        media.draw_all(SimpleNamespace(root=str(tmp_path)), data, store, "code", map)
    assert drawn == [f"b/{names[0]}"]


def entry_of(node: PageNode) -> PageEntry:
    return PageEntry(node.task, None, [node])


def test_the_picture_of_a_model_has_its_texture_though_no_node_reads_it(tmp_path):
    game = make_game(tmp_path / "village")
    for name in ("kac", "splashpack", "untold", "rp2350"):
        game.remove(f"manifests/{name}.toml")
    game.write("manifests/emberware.toml", MESH_ALONE)
    paint(game, "assets/wood.png", (250, 20, 20))
    assert game.doit().code == 0
    assert game.doit("report").code == 0
    before = Page(game)
    assert [one["path"] for one in before.index["entries"] if one["path"]] == ["assets/box.obj"]
    assert strongest_channel(before, "assets/box.obj") == 0
    # It is in no result of a build, and a change of it is noticed all the same.
    paint(game, "assets/wood.png", (20, 20, 250))
    assert game.doit("report").code == 0
    assert strongest_channel(Page(game), "assets/box.obj") == 2


def strongest_channel(page: Page, name: str) -> int:
    picture = Image.open(io.BytesIO(page.picture(page.entry(name)["picture"]))).convert("RGBA")
    pixels = np.array(picture).reshape(-1, 4)
    return int(pixels[pixels[:, 3] == 255][:, :3].sum(axis=0).argmax())


def test_a_report_after_a_build_of_one_target_still_has_the_others(tmp_path):
    game = make_game(tmp_path / "village")
    for name in ("splashpack", "untold", "emberware"):
        game.remove(f"manifests/{name}.toml")
    assert game.doit().code == 0
    paint(game, "assets/leaf.png", (200, 0, 0))
    assert game.doit("rp2350").code == 0
    assert game.doit("report").code == 0
    page = Page(game)
    assert [one["stem"] for one in page.index["manifests"]] == ["kac", "rp2350"]
    assert (page.node("kac:box")["outcome"], page.node("rp2350:leaf")["outcome"]) == (
        "unchanged",
        "built",
    )
    assert page.node("kac:box")["picture"]


def test_a_failure_comes_with_facts_and_hint_and_leaves_the_rest(tmp_path):
    game = make_game(tmp_path / "village")
    for name in ("kac", "splashpack", "untold", "emberware"):
        game.remove(f"manifests/{name}.toml")
    game.write("assets/leaf.png", b"no picture at all")
    assert game.doit().code == 1
    assert game.doit("report").code == 0
    page = Page(game)
    error = page.node("rp2350:leaf")["error"]
    assert error["problem"]
    assert "assets/leaf.png" in error["facts"].values()
    assert page.node("rp2350:wood")["picture"]
    assert "picture" not in page.node("rp2350:leaf")


def test_maps_stay_when_the_cache_is_deleted(tmp_path):
    game = make_game(tmp_path / "village")
    for name in ("kac", "rp2350", "untold", "emberware"):
        game.remove(f"manifests/{name}.toml")
    assert game.doit().code == 0
    assert game.doit("report").code == 0
    before = Page(game)
    assert before.index["charts"]
    game.remove("cache")
    assert game.doit("report").code == 0
    assert Page(game).index["charts"] == before.index["charts"]
    # Without the pictures of earlier reports the map cannot be drawn, and the page says so.
    game.remove(".cartwright/report/media.db")
    assert game.doit("report").code == 0
    assert Page(game).index["charts"] == []


def test_a_picture_that_cannot_be_drawn_is_replaced_by_the_reason():
    def fail(*_):
        raise EncodeError("it is cut off")

    view = "encoders.untold.picture.clip_view:view_pack"
    model = {"displayName": "a", "path": "b", "transform": []}
    pack = json.dumps({"formatVersion": 1, "sourceAsset": "a", "models": [model]}).encode()
    refused = media_of_output([Reader(".x", b"", "", view=view)], pack, "a.x", fail)
    assert (refused.thumbnail, refused.problem[:24]) == (None, "a model of the pack has ")
    assert media_of_output([], b"", "a.x", fail) == Media()
    broken = media_of_source(b"no picture", "a.png", {})
    assert "not a PNG" in broken.problem
    entry = PageEntry("a.png", "a.png", [], problem=broken.problem)
    index = page_index(PageData(result(), [], [entry]), "game")
    assert index["entries"][0]["problem"] == broken.problem


def test_a_report_among_outputs_is_refused(built):
    ran = built.doit("report", "--out", "build/kac/report.html")
    assert (ran.code, "output folder of kac" in ran.err) == (3, True)


def test_a_report_before_the_first_build_says_what_to_do(game):
    ran = game.doit("report")
    assert (ran.code, "run `doit` first" in ran.err) == (3, True)


class TestMediaStore:
    MEDIA = Media(thumbnail=b"picture")

    def test_media_hold_while_the_files_read_for_them_are_the_same(self, tmp_path):
        with MediaStore(str(tmp_path / "media.db")) as store:
            store.keep("key", {"a.bin": "1"}, self.MEDIA)
            assert store.find("key", {"a.bin": "1"}.get) == self.MEDIA
            assert store.find("key", {"a.bin": "2"}.get) is None
            assert store.find("key", {}.get) is None

    def test_a_damaged_store_is_made_anew(self, tmp_path):
        place = tmp_path / "media.db"
        place.write_bytes(b"no database" * 1000)
        with MediaStore(str(place)) as store:
            store.keep("key", {}, self.MEDIA)
            assert store.find("key", {}.get) == self.MEDIA

    def test_what_no_report_asked_for_in_a_month_is_removed(self, tmp_path):
        place = str(tmp_path / "media.db")
        with MediaStore(place, lambda: 1e9) as store:
            store.keep("old", {}, self.MEDIA)
            store.keep("used", {}, self.MEDIA)
        with MediaStore(place, lambda: 1e9 + KEPT_SECONDS + 1) as store:
            store.note_use(["used"])
            assert store.find("used", {}.get) == self.MEDIA
            assert store.find("old", {}.get) is None


def manifest_of(page, stem):
    return next(one for one in page.index["manifests"] if one["stem"] == stem)


def test_the_map_of_a_rom_has_the_sizes_that_things_have_in_it(built, page):
    found = manifest_of(page, "emberware")
    sizes = {(one["kind"], one["name"]): one["bytes"] for one in found["contents"]}
    assert sizes["sounds", "tone"] == 2 * 2000  # as samples; the loose file is compressed
    assert sizes["textures", "wood"] == 64 * 64 * 4
    assert sum(sizes.values()) == found["used"] == len(built.read("build/emberware/game.ewz"))
    makers = {one["name"]: one["node"] for one in found["contents"]}
    assert (makers["tone"], makers["code"]) == ("tone", "")


def test_a_rom_that_failed_has_no_map(game):
    game.remove("manifests/toy.toml")
    wasm = 'id = "game"\nwasm = "gone.wasm"\n'
    text = MANIFESTS["emberware"].replace('id = "game"\n', wasm).replace("*.wav", "*.png")
    game.write("manifests/emberware.toml", text)
    paint(game, "assets/wood.png", (90, 60, 30))
    assert game.doit().code == 1
    assert game.doit("report").code == 0
    found = manifest_of(Page(game), "emberware")
    assert (found["used"], found["parts"], found["contents"]) == (0, {}, None)


TRIANGLE = b"""ply
format ascii 1.0
comment TextureFile bark.png
element vertex 3
property float x
property float y
property float z
property float s
property float t
element face 1
property list uchar int vertex_indices
end_header
0 0 0 0 0
1 0 0 1 0
0 1 0 0 1
3 0 1 2
"""


def test_nodes_stand_with_the_source_of_their_asset_and_not_with_one_of_its_textures(game):
    game.remove("manifests/toy.toml")
    for name in ("tree.ply", "twig.ply"):
        game.path("assets").mkdir(exist_ok=True)
        game.path(f"assets/{name}").write_bytes(TRIANGLE)
    paint(game, "assets/bark.png", (90, 60, 30))
    game.write("manifests/kac.toml", 'target = "kac"\n[[asset]]\nsource = "assets/tree.ply"\n')
    game.write("manifests/rp2350.toml", MANIFESTS["rp2350"])
    scene = '[[scene]]\nname = "wood"\nsource = "assets/*.ply"\n'
    game.write("manifests/splashpack.toml", f'target = "splashpack"\n{scene}')
    assert game.doit().code == 0
    assert game.doit("report").code == 0
    page = Page(game)
    tasks = {
        entry["name"]: {page.index["nodes"][n]["task"].split("/")[0] for n in entry["nodes"]}
        for entry in page.index["entries"]
    }
    assert tasks == {
        "assets/tree.ply": {"kac:tree"},
        "assets/bark.png": {"rp2350:bark"},
        "splashpack:wood": {"splashpack:wood"},
        "rp2350:mod.rs": {"rp2350:mod.rs"},
    }
    assert is_webp(page.picture(page.entry("assets/tree.ply")["picture"]))
