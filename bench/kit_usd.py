"""How fast a large USD stage is read, beside a plain loop over usd-core in the same run.

python bench/kit_usd.py
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

os.environ.setdefault("PXR_WORK_THREAD_LIMIT", "1")  # as in a decoder process
os.environ.setdefault("TF_ENV_SETTING_ALERTS_ENABLED", "0")

from pxr import Sdf, Usd, UsdGeom, UsdShade, Vt

from encoders.kit.source.conversion import compose
from encoders.kit.source.gltf.survey import survey_gltf
from pipeline.process.decoder import RARE_COLLECTION
from pipeline.process.scratch import install_scratch

MESHES, SIDE = 6462, 10  # 1,292,400 triangles
MATERIALS = 20
NAME = "scene.usdc"


def make_stage(path: str) -> None:
    """Write sheets of quads with normals and coordinates by corner, in groups of a hundred."""
    stage = Usd.Stage.CreateNew(path)
    UsdGeom.SetStageMetersPerUnit(stage, 1)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/city").GetPrim())
    materials = [make_material(stage, number) for number in range(MATERIALS)]
    x, y = np.meshgrid(np.arange(SIDE + 1), np.arange(SIDE + 1))
    sheet = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)]).astype("f4")
    first = np.arange(SIDE * SIDE) // SIDE * (SIDE + 1) + np.arange(SIDE * SIDE) % SIDE
    quads = first[:, None] + np.array([0, 1, SIDE + 2, SIDE + 1])
    heights = np.random.default_rng(1).random((MESHES, len(sheet))).astype("f4")
    for number in range(MESHES):
        sheet[:, 2] = heights[number]
        mesh = UsdGeom.Mesh.Define(stage, f"/city/group_{number // 100}/mesh_{number}")
        mesh.AddTranslateOp().Set((number % 80 * 12, 0, number // 80 * 12))
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(sheet))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray(SIDE * SIDE, 4))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(quads.ravel().astype("i4")))
        mesh.CreateSubdivisionSchemeAttr("none")
        mesh.CreateNormalsAttr(Vt.Vec3fArray(quads.size, (0, 0, 1)))
        mesh.SetNormalsInterpolation("faceVarying")
        kind = Sdf.ValueTypeNames.TexCoord2fArray
        uv = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", kind, "faceVarying")
        uv.Set(Vt.Vec2fArray.FromNumpy(sheet[quads.ravel(), :2] / np.float32(SIDE)))
        UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(materials[number % MATERIALS])
    stage.GetRootLayer().Save()


def make_material(stage: Usd.Stage, number: int) -> UsdShade.Material:
    material = UsdShade.Material.Define(stage, f"/city/materials/m{number}")
    shader = UsdShade.Shader.Define(stage, f"/city/materials/m{number}/surface")
    shader.CreateIdAttr("UsdPreviewSurface")
    color = shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f)
    color.Set((number / MATERIALS, 0.5, 0.5))
    material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
    return material


def plain_loop(path: str) -> int:
    """Read all triangles in world space with usd-core, without materials or shared vertices."""
    stage, cache, count = Usd.Stage.Open(path), UsdGeom.XformCache(), 0
    for prim in stage.Traverse():
        if not prim.IsA(UsdGeom.Mesh):
            continue
        mesh = UsdGeom.Mesh(prim)
        world = np.array(cache.GetLocalToWorldTransform(prim))
        points = np.array(mesh.GetPointsAttr().Get()) @ world[:3, :3] + world[3, :3]
        sizes = np.array(mesh.GetFaceVertexCountsAttr().Get())
        corners = np.array(mesh.GetFaceVertexIndicesAttr().Get())
        np.array(mesh.GetNormalsAttr().Get())
        np.array(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").ComputeFlattened())
        first = np.repeat(np.cumsum(sizes) - sizes, sizes - 2)
        begin = np.repeat(np.cumsum(sizes - 2) - (sizes - 2), sizes - 2)
        step = np.arange(len(first)) - begin
        points[
            np.column_stack([corners[first], corners[first + step + 1], corners[first + step + 2]])
        ]
        count += len(first)
    return count


def measure(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall and CPU time in seconds, the least of two rounds."""
    rounds = []
    for _ in range(2):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        rounds.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(rounds)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/{NAME}"
        install_scratch(f"{folder}/scratch")
        gc.set_threshold(*RARE_COLLECTION)  # as in a decoder process
        make_stage(path)
        data = Path(path).read_bytes()
        count = plain_loop(path)
        print(f"USD, {count:,} triangles in {MESHES:,} meshes, {len(data) / 1e6:.1f} MB\n")
        print(f"{'':34}{'wall s':>8}{'CPU s':>8}")
        for name, work in {
            "convert to GLB": lambda: compose({NAME: data}, NAME),
            "survey": lambda: survey_gltf(compose({NAME: data}, NAME, with_data=False)[0], NAME),
            "usd-core, a plain loop": lambda: plain_loop(path),
        }.items():
            wall, cpu = measure(work)
            print(f"{name:34}{wall:8.1f}{cpu:8.1f}")
