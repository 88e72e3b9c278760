"""USD files as text, so that tests do not write what the library under test would write."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

HEADER = '#usda 1.0\n(\n    metersPerUnit = {unit}\n    upAxis = "{axis}"\n{more})\n'
QUAD = "[(0, 0, 0), (1, 0, 0), (1, 2, 0), (0, 2, 0)]"
UVS = "[(0, 0), (1, 0), (1, 2), (0, 2)]"
IDENTITY = "((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))"


def usda(body: str, unit: float = 1, axis: str = "Y", more: str = "") -> bytes:
    return (HEADER.format(unit=unit, axis=axis, more=more) + body).encode()


def mesh(
    name: str = "quad",
    body: str = "",
    *,
    points: str = QUAD,
    sizes: str = "[4]",
    corners: str = "[0, 1, 2, 3]",
    scheme: str = "none",
    meta: str = "",
) -> str:
    return f"""def Mesh "{name}" {meta}
{{
    point3f[] points = {points}
    int[] faceVertexCounts = {sizes}
    int[] faceVertexIndices = {corners}
    uniform token subdivisionScheme = "{scheme}"
    {body}
}}
"""


def at(x: float, y: float, z: float) -> str:
    return (
        f"double3 xformOp:translate = ({x}, {y}, {z})\n"
        'uniform token[] xformOpOrder = ["xformOp:translate"]\n'
    )


def texture(name: str, file: str, more: str = "") -> str:
    return f"""def Shader "{name}"
    {{
        uniform token info:id = "UsdUVTexture"
        asset inputs:file = @{file}@
        float2 inputs:st.connect = </materials/m/reader.outputs:result>
        token inputs:wrapS = "repeat"
        token inputs:wrapT = "mirror"
        {more}
        float3 outputs:rgb
        float outputs:r
        float outputs:g
        float outputs:b
        float outputs:a
    }}
"""


def material(surface: str, nodes: str = "", name: str = "m") -> str:
    return f"""def Scope "materials"
{{
    def Material "{name}"
    {{
        token outputs:surface.connect = </materials/{name}/surface.outputs:surface>
        def Shader "surface"
        {{
            uniform token info:id = "UsdPreviewSurface"
            {surface}
            token outputs:surface
        }}
        def Shader "reader"
        {{
            uniform token info:id = "UsdPrimvarReader_float2"
            string inputs:varname = "st"
            float2 outputs:result
        }}
        {nodes}
    }}
}}
"""


BIND = "rel material:binding = </materials/m>\n"
SIGN = (
    'uniform token orientation = "rightHanded"\n'
    "normal3f[] normals = [(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)] "
    '(interpolation = "faceVarying")\n'
    f'texCoord2f[] primvars:st = {UVS} (interpolation = "faceVarying")\n'
)


def sign(file: str = "./textures/wood grain.png") -> bytes:
    """A quad of one by two metres, three metres to the right, with a textured material."""
    bound = BIND if file else ""
    body = mesh("sign", SIGN + bound + at(3, 0, 0))
    if file:
        color = "color3f inputs:diffuseColor.connect = </materials/m/image.outputs:rgb>"
        body += material(color, texture("image", file))
    return usda(body)


def package(files: Mapping[str, bytes]) -> bytes:
    """A USDZ: a ZIP whose files are stored and begin at multiples of 64 bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            start = stream.tell() + 30 + len(name.encode())
            # An extra field has a head of four bytes.
            gap = -start % 64
            gap += 64 if 0 < gap < 4 else 0
            info.extra = (
                b"\x19\x86" + (gap - 4).to_bytes(2, "little") + bytes(gap - 4) if gap else b""
            )
            archive.writestr(info, data)
    return stream.getvalue()


RIG = """def SkelRoot "root"
{
    def Skeleton "skel"
    {
        uniform token purpose = "guide"
        uniform token[] joints = ["hip", "hip/knee"]
        uniform matrix4d[] bindTransforms = [
            ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)),
            ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 2, 0, 1))]
        uniform matrix4d[] restTransforms = [
            ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)),
            ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 2, 0, 1))]
        rel skel:animationSource = </root/walk>
    }
    def SkelAnimation "walk"
    {
        uniform token[] joints = ["hip/knee"]
        float3[] translations.timeSamples = { 24: [(0, 2, 0)], 48: [(0, 2, 4)] }
        quatf[] rotations.timeSamples = { 24: [(1, 0, 0, 0)], 48: [(0.70710678, 0, 0, 0.70710678)] }
        half3[] scales.timeSamples = { 24: [(1, 1, 1)], 48: [(1, 1, 1)] }
    }
    %s
}
"""
SKINNED = """
    uniform token[] skel:joints = ["hip/knee", "hip"]
    rel skel:skeleton = </root/skel>
    matrix4d primvars:skel:geomBindTransform = (
        (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 5, 1))
    int[] primvars:skel:jointIndices = [1, 0, 1, 0, 1, 0, 1, 0] (
        elementSize = 2
        interpolation = "vertex"
    )
    float[] primvars:skel:jointWeights = [1, 0, 0.75, 0.25, 0, 1, 0, 1] (
        elementSize = 2
        interpolation = "vertex"
    )
"""


def rig(**options: object) -> bytes:
    """A quad on two joints, with a clip of a second."""
    meta = '(\n prepend apiSchemas = ["SkelBindingAPI"]\n)'
    body = RIG % mesh("quad", SKINNED + at(9, 9, 9), meta=meta)
    return usda(body, more="    timeCodesPerSecond = 24\n    startTimeCode = 24\n", **options)  # type: ignore[arg-type]
