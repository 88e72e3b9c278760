"""Damaged files: each is read, or refused with our own error, in bounded time and memory."""

import base64
import copy
import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.animation import decode_clip, frame_times
from encoders.kit.source.gltf.data.image import image_source
from encoders.kit.source.gltf.document.container import decode_container
from encoders.kit.source.gltf.geometry.skin import decode_skin
from encoders.kit.source.gltf.pose import sample_local, sample_model, to_pose
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.gltf.world import decode_world
from tests.kit.glb_builder import Builder, glb, quad

CHAIN = (Path(__file__).parent / "data" / "chain.glb").read_bytes()
ODD = (
    -1, 0, 1, 2, 3, 5, 7, 255, 65536, 2**31, 2**32, 2**53, 2**63, 10**30, -(2**40), 0.5, 1e38,
    1e308, [1e308] + [0] * 15,
    None, True, "", "x", "KHR_texture_transform", [], {}, [0], [1, 1], [0, 0, 0], [1e308] * 3,
    [0] * 4, [1] * 16, [[0]], {"a": 1}, 5120, 5126, "MAT4", "STEP", "CUBICSPLINE", "VEC4", "BLEND",
)  # fmt: skip


def rich():
    """A file with a bit of everything: sparse, materials, images, a skin, clips, compression."""
    builder = quad(translation=[1, 2, 3], skin=0)
    primitive = builder.json["meshes"][0]["primitives"][0]
    primitive["attributes"]["JOINTS_0"] = builder.accessor([(0, 1, 0, 0)] * 4, "u1")
    primitive["attributes"]["WEIGHTS_0"] = builder.accessor([(0.5, 0.5, 0, 0)] * 4)
    primitive["material"] = 0
    rows = builder.view(bytes((0, 2)))
    values = builder.view(np.ones((2, 3), "<f4").tobytes())
    builder.json["accessors"][0]["sparse"] = {
        "count": 2,
        "indices": {"bufferView": rows, "componentType": 5121},
        "values": {"bufferView": values},
    }
    builder.add("nodes", name="hip", children=[2])
    builder.add("nodes", name="knee", matrix=np.eye(4).reshape(-1).tolist())
    builder.json["scenes"][0]["nodes"] = [0, 1]
    matrices = builder.accessor([np.eye(4).reshape(-1)] * 2, kind="MAT4")
    builder.add("skins", joints=[1, 2], inverseBindMatrices=matrices)
    builder.add("images", bufferView=builder.view(b"\x89PNG\r\n\x1a\nabcd"), mimeType="image/png")
    builder.add("textures", source=0, sampler=0)
    builder.add("samplers", wrapS=33071)
    info = {"index": 0, "extensions": {"KHR_texture_transform": {"offset": [0, 1], "rotation": 1}}}
    builder.add("materials", pbrMetallicRoughness={"baseColorTexture": info}, normalTexture=info)
    keys = builder.accessor([0.0, 0.5, 1.0])
    moves = builder.accessor([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    turns = builder.accessor([(0, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 0)])
    curve = builder.accessor(np.arange(27.0).reshape(9, 3))
    samplers = [
        {"input": keys, "output": moves, "interpolation": "STEP"},
        {"input": keys, "output": turns},
        {"input": keys, "output": curve, "interpolation": "CUBICSPLINE"},
    ]
    paths = ("translation", "rotation", "scale")
    channels = [{"sampler": k, "target": {"node": 1, "path": p}} for k, p in enumerate(paths)]
    builder.add("animations", name="go", samplers=samplers, channels=channels)
    return builder.glb()


def packed():
    """A file whose triangles are meshopt-compressed."""
    cases = json.loads((Path(__file__).parent / "data" / "meshopt.json").read_text())
    data = base64.b64decode(cases["attributes"]["encoded"])
    builder = Builder()
    view = builder.view(data)
    extension = builder.json["bufferViews"][view] | {"byteStride": 12, "count": 300}
    builder.json["bufferViews"][view] = {
        "buffer": 0,
        "byteLength": 3600,
        "extensions": {"EXT_meshopt_compression": extension | {"mode": "ATTRIBUTES"}},
    }
    builder.add("accessors", bufferView=view, componentType=5122, count=300, type="VEC3")
    builder.json["bufferViews"][view]["byteStride"] = 12
    builder.mesh({"POSITION": 0})
    builder.add("nodes", mesh=0)
    return builder.glb()


SEEDS = {"chain": CHAIN, "rich": rich(), "packed": packed()}


def read_everything(data, name="fuzz.glb"):
    """Do all that a target might do with a file."""
    gltf = decode_gltf(data, name)
    gltf.limit_bytes = 1 << 24
    decode_world(gltf)
    for index in range(len(gltf.document.images)):
        image_source(gltf, index)
    skins = [decode_skin(gltf, index) for index in range(len(gltf.document.skins))]
    for index in range(len(gltf.document.animations)):
        clip = decode_clip(gltf, index)
        times = frame_times(clip.duration, 10, name)
        for skin in skins:
            sample_local(gltf, clip, skin.joints, times)
            to_pose(sample_model(gltf, clip, skin.joints, times))
    return gltf


def survives(data):
    """Read and survey: True when both went through, False when refused by name."""
    refusal = None
    try:
        read_everything(data)
        json.dumps(survey_gltf(data, "fuzz.glb"), allow_nan=False)
    except EncodeError as error:
        refusal = error
    assert refusal is None or refusal.facts["file"] == "fuzz.glb"
    return refusal is None


def damage_bytes(data, chance):
    data = bytearray(data)
    for _ in range(chance.randint(1, 5)):
        place = chance.randrange(len(data))
        kind = chance.randrange(4)
        if kind == 0:
            data[place] = chance.randrange(256)
        elif kind == 1:
            data[place : place + 4] = struct.pack("<I", chance.choice((0, 1, 2**31, 2**32 - 1)))
        elif kind == 2:
            del data[place : place + chance.randint(1, 9)]
        else:
            data[place:place] = data[place : place + chance.randint(1, 30)]
    return bytes(data)


def places(value, path=()):
    """Every place in a JSON value that can be changed."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))


def damage_json(document, chance, choices):
    document = copy.deepcopy(document)
    for _ in range(chance.randint(1, 2)):
        *path, last = chance.choice(choices)
        target = document
        try:
            for key in path:
                target = target[key]
            if chance.random() < 0.2:
                del target[last]
            else:
                target[last] = chance.choice(ODD)
        except (KeyError, IndexError, TypeError):
            continue
    return document


@pytest.mark.parametrize("key", sorted(SEEDS))
def test_the_seeds_themselves_are_read(key):
    assert survives(SEEDS[key])


@pytest.mark.parametrize("key", sorted(SEEDS))
def test_damaged_bytes_are_read_or_refused(key):
    chance = random.Random(f"bytes {key}")
    outcomes = [survives(damage_bytes(SEEDS[key], chance)) for _ in range(400)]
    assert not all(outcomes)


@pytest.mark.parametrize("key", sorted(SEEDS))
def test_damaged_json_is_read_or_refused(key):
    chance = random.Random(f"json {key}")
    container = decode_container(SEEDS[key], key)
    document = json.loads(bytes(container.json))
    choices = list(places(document))
    binary = bytes(container.binary)
    outcomes = [survives(glb(damage_json(document, chance, choices), binary)) for _ in range(900)]
    assert any(outcomes)
    assert not all(outcomes)


@pytest.mark.parametrize("key", sorted(SEEDS))
def test_every_cut_is_read_or_refused(key):
    data = SEEDS[key]
    for length in range(0, len(data), max(1, len(data) // 150)):
        survives(data[:length])
