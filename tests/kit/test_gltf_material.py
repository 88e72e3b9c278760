"""Materials, textures, samplers, images and texture coordinates."""

import base64
import json
from math import pi

import numpy as np
import pygltflib
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.mesh.texcoord import transform_uv
from encoders.kit.source.gltf.data.image import image_source
from encoders.kit.source.gltf.material import decode_materials
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.material import Material, Sampler, Texture
from tests.kit.glb_builder import Builder

PNG = b"\x89PNG\r\n\x1a\n" + b"rest"
JPEG = b"\xff\xd8\xff\xe0rest"


def materials(*records, resources=None, **document):
    text = {"asset": {"version": "2.0"}, "materials": list(records), **document}
    gltf = decode_gltf(json.dumps(text).encode(), "m.gltf", resources)
    return decode_materials(gltf), gltf


def textured(info=None, texture=None, **document):
    """One material whose base colour texture is texture 0, image 0."""
    record = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0} | (info or {})}}
    defaults = {"textures": [{"source": 0} if texture is None else texture]}
    defaults["images"] = [{"uri": "a%20b.png"}]
    (material,), gltf = materials(record, **(defaults | document))
    return material.textures.get("base_color"), gltf


def test_plain_material_has_the_specification_s_defaults():
    (material,), _ = materials({"name": "plain"})
    assert material == Material(
        name="plain",
        base_color=(1, 1, 1, 1),
        textures={},
        metallic=1,
        roughness=1,
        file="m.gltf",
        place="materials[0]",
    )


def test_every_value_of_a_material_is_read():
    (material,), _ = materials(
        {
            "pbrMetallicRoughness": {
                "baseColorFactor": [0.1, 0.2, 0.3, 0.4],
                "metallicFactor": 0.5,
                "roughnessFactor": 0.6,
            },
            "emissiveFactor": [1, 0.5, 0],
            "alphaMode": "MASK",
            "alphaCutoff": 0.25,
            "doubleSided": True,
            "extensions": {
                "KHR_materials_unlit": {},
                "KHR_materials_emissive_strength": {"emissiveStrength": 4},
            },
        }
    )
    assert material.base_color == (0.1, 0.2, 0.3, 0.4)
    assert (material.metallic, material.roughness) == (0.5, 0.6)
    assert material.emissive == (4, 2, 0)
    assert (material.alpha_mode, material.alpha_cutoff) == ("mask", 0.25)
    assert material.double_sided
    assert material.unlit


def test_each_texture_comes_in_its_slot():
    record = {
        "pbrMetallicRoughness": {
            "baseColorTexture": {"index": 0},
            "metallicRoughnessTexture": {"index": 0, "texCoord": 1},
        },
        "normalTexture": {"index": 0, "scale": 0.5},
        "occlusionTexture": {"index": 0, "strength": 0.25},
        "emissiveTexture": {"index": 0},
    }
    (material,), _ = materials(record, textures=[{"source": 0}], images=[{"uri": "a.png"}])
    slots = {slot: (t.uv_set, t.strength) for slot, t in material.textures.items()}
    assert slots == {
        "base_color": (0, 1),
        "normal": (0, 0.5),
        "metallic_roughness": (1, 1),
        "emissive": (0, 1),
        "occlusion": (0, 0.25),
    }
    assert material.textures["normal"].named_in == "m.gltf, materials[0], normal texture"


def test_texture_names_its_image_by_uri_as_written_and_by_index():
    texture, _ = textured()
    assert (texture.uri, texture.image) == ("a%20b.png", 0)
    data, _ = textured(images=[{"uri": "data:image/png;base64,AAAA"}])
    assert (data.uri, data.image) == ("", 0)


def test_texture_transform_is_read_and_its_set_wins():
    transform = {"offset": [0, 1], "rotation": 0.5, "scale": [2, 3], "texCoord": 1}
    texture, _ = textured({"texCoord": 0, "extensions": {"KHR_texture_transform": transform}})
    assert (texture.offset, texture.rotation, texture.scale) == ((0, 1), 0.5, (2, 3))
    assert texture.uv_set == 1


@pytest.mark.parametrize(
    ("record", "sampler"),
    [
        ({}, Sampler()),
        ({"wrapS": 33071, "wrapT": 33648}, Sampler("clamp", "mirror", "linear")),
        ({"magFilter": 9728}, Sampler("repeat", "repeat", "nearest")),
        ({"magFilter": 9729, "minFilter": 9984}, Sampler("repeat", "repeat", "linear")),
    ],
)
def test_sampler_says_wrap_and_filter(record, sampler):
    texture, _ = textured(texture={"source": 0, "sampler": 0}, samplers=[record])
    assert texture.sampler == sampler


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"texture": {"source": 0, "sampler": 0}, "samplers": [{"wrapS": 1}]}, "wrap is unknown"),
        ({"texture": {"source": 3}}, "points at nothing"),
        ({"info": {"index": 2}}, "points at nothing"),
        ({"info": {"extensions": {"KHR_texture_transform": {"scale": 2}}}}, "not valid"),
    ],
)
def test_broken_texture_is_refused(document, problem):
    with pytest.raises(EncodeError, match=problem):
        textured(**document)


def test_texture_of_a_basis_image_uses_its_fallback():
    extension = {"KHR_texture_basisu": {"source": 1}}
    images = [{"uri": "a.png"}, {"uri": "a.ktx2"}]
    texture, _ = textured(texture={"source": 0, "extensions": extension}, images=images)
    assert texture.uri == "a.png"


@pytest.mark.parametrize(
    "key", ["EXT_texture_webp", "EXT_texture_avif", "KHR_texture_basisu", "MSFT_texture_dds"]
)
def test_texture_without_an_image_of_its_own_shows_that_of_an_extension(key):
    images = [{"uri": "a.png"}, {"uri": "a.other"}]
    texture, _ = textured(texture={"extensions": {key: {"source": 1}}}, images=images)
    assert (texture.uri, texture.image) == ("a.other", 1)


def test_of_several_images_one_that_can_be_read_is_shown():
    extensions = {"KHR_texture_basisu": {"source": 0}, "EXT_texture_webp": {"source": 1}}
    images = [{"uri": "a.ktx2"}, {"uri": "a.webp"}]
    texture, _ = textured(texture={"extensions": extensions}, images=images)
    assert texture.uri == "a.webp"


def test_texture_without_an_image_is_left_out_with_a_warning():
    texture, gltf = textured(texture={})
    assert texture is None
    assert gltf.warnings == ("textures[0] has no image and was ignored [missing]",)


def test_pygltflib_reads_the_same_material():
    text = json.dumps(
        {
            "asset": {"version": "2.0"},
            "materials": [{"alphaMode": "BLEND", "emissiveFactor": [0, 1, 0], "doubleSided": True}],
        }
    )
    other = pygltflib.GLTF2().gltf_from_json(text).materials[0]
    (ours,) = decode_materials(decode_gltf(text.encode(), "a"))
    assert ours.alpha_mode == other.alphaMode.lower()
    assert list(ours.emissive) == other.emissiveFactor
    assert ours.double_sided == other.doubleSided


def test_image_comes_from_view_uri_or_data_uri():
    builder = Builder()
    builder.add("images", name="inside", bufferView=builder.view(PNG), mimeType="image/png")
    builder.add("images", uri="side%20car.jpg")
    data = base64.b64encode(PNG).decode()
    builder.add("images", uri=f"data:image/png;base64,{data}")
    gltf = decode_gltf(builder.glb(), "a.glb", {"side%20car.jpg": JPEG})
    sources = [image_source(gltf, index) for index in range(3)]
    assert [source.data for source in sources] == [PNG, JPEG, PNG]
    assert [source.format for source in sources] == ["PNG", "JPEG", "PNG"]
    assert [source.uri for source in sources] == ["", "side%20car.jpg", ""]
    assert [source.name for source in sources] == ["inside", "side%20car.jpg", "images[2]"]


@pytest.mark.parametrize(("data", "found"), [(b"RIFF", "text"), (b"", "an empty file")])
def test_image_that_is_neither_png_nor_jpeg_is_refused(data, found):
    builder = Builder()
    builder.add("images", uri="x.bin")
    with pytest.raises(EncodeError, match="not supported") as error:
        image_source(decode_gltf(builder.glb(), "a.glb", {"x.bin": data}), 0)
    assert error.value.facts["found"] == found
    assert "PNG" in error.value.hint


def test_image_of_nothing_is_refused():
    builder = Builder()
    builder.add("images")
    with pytest.raises(EncodeError, match="neither"):
        image_source(decode_gltf(builder.glb(), "a.glb"), 0)


CORNERS = np.array([(0, 0), (1, 0), (0, 1), (1, 1)], np.float32)


def test_coordinates_without_transform_are_the_same_array():
    assert transform_uv(Texture(), CORNERS) is CORNERS


def test_the_specification_s_example_reads_the_lower_left_quarter_turned():
    texture = Texture(offset=(0, 1), rotation=pi / 2, scale=(0.5, 0.5))
    expected = [(0, 1), (0, 0.5), (0.5, 1), (0.5, 0.5)]
    np.testing.assert_allclose(transform_uv(texture, CORNERS), expected, atol=1e-7)


def test_the_specification_s_example_of_a_turned_axis():
    texture = Texture(offset=(0, 1), scale=(1, -1))
    assert transform_uv(texture, CORNERS).tolist() == [[0, 1], [1, 1], [0, 0], [1, 0]]


def test_diffuse_colour_and_texture_of_the_older_surface_are_the_base_colour():
    older = {
        "diffuseFactor": [0.5, 0.25, 1, 0.75],
        "diffuseTexture": {"index": 0},
        "glossinessFactor": 0.25,
    }
    record = {"extensions": {"KHR_materials_pbrSpecularGlossiness": older}}
    images = {"textures": [{"source": 0}], "images": [{"uri": "a.png"}]}
    (material,), _ = materials(record, **images)
    assert material.base_color == (0.5, 0.25, 1, 0.75)
    assert (material.metallic, material.roughness) == (0, 0.75)
    assert material.textures["base_color"].uri == "a.png"
    document = {"asset": {"version": "2.0"}, "materials": [record], **images}
    (surface,) = survey_gltf(json.dumps(document).encode(), "m.gltf")["surfaces"]
    assert (surface["alpha"], surface["images"]) == (0.75, {"base_color": {"image": 0}})
