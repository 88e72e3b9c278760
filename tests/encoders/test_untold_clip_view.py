"""What is drawn of clips and packs is where the engine shows it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.view.soup import place_mesh
from encoders.untold.picture.clip_view import FRAME_RATE, view_clip, view_pack
from tests.encoders.test_untold_rig import ARMATURES, bent
from tests.encoders.untold_model import build_model
from tests.encoders.untold_rig_reader import read_rig, shown

CLIP = "hero_bend.untoldanim"


@pytest.mark.parametrize("name", ARMATURES)
def test_every_frame_is_where_the_engine_shows_it(name):
    armature, bound = ARMATURES[name]
    files = build_model({"a.glb": bent(armature=armature, bound=bound).glb()}).files
    scene = view_clip(files[CLIP], f"build/{CLIP}", files.get)
    rig, clip = read_rig(files["hero.untold"]), read_rig(files[CLIP])["clips"][0]
    assert scene.clip is not None
    assert scene.clip.frame_count == 30
    for frame in (0, 7, 15, 29):
        found, _ = place_mesh(scene, scene.meshes[0], frame)
        assert np.abs(found - shown(rig, clip, frame / FRAME_RATE)[0]).max() < 1e-4


def test_a_clip_without_its_model_says_so():
    files = build_model({"a.glb": bent().glb()}).files
    with pytest.raises(EncodeError, match="not beside it"):
        view_clip(files[CLIP], CLIP, lambda _: None)


def test_the_models_of_a_pack_stand_where_it_places_them():
    files = build_model({"a.glb": bent().glb()}).files
    far = np.eye(4)
    far[:3, 3] = (10, 0, 0)
    models = [
        {"displayName": "hero", "path": "hero.untold", "transform": place.tolist()}
        for place in (np.eye(4), far)
    ]
    pack = json.dumps({"formatVersion": 1, "sourceAsset": "two", "models": models}).encode()
    near, moved = view_pack(pack, "two.untoldpack", files.get).meshes
    first, second = (
        place_mesh(view_pack(pack, "two", files.get), one, None)[0] for one in (near, moved)
    )
    assert np.allclose(second - first, (10, 0, 0))
