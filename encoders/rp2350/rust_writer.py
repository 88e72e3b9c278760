"""The generated Rust files: a value for each kind, and the text that it is written as.

The templates are the specification's, letter by letter. A text depends on its value alone, so the
reader can check a file by writing its value again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from encoders.kit.image.mip import level_size
from encoders.rp2350.format import BLOCK_BYTES
from encoders.rp2350.identifier import comment_path, file_base
from encoders.rp2350.rust_literal import kilobytes, looks_named, vector_text, vector_texts

Vector = tuple[float, float, float]

MODULE_TYPES = """\
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TextureFormat {
    RGBA4444,
    BC1,
}

#[derive(Copy, Clone)]
pub struct MeshPatchDescriptor {
    pub data: &'static [u8],
    pub aabb_min: [f32; 3],
    pub aabb_max: [f32; 3],
    pub vertex_count: usize,
    pub entry_count: usize,
}
"""
# An included file can have no inner attribute, and rustc ignores one on an `include!`. So the
# attribute stands at a module of its own, which gives all names on.
MODULE_BEGIN = "#[allow(dead_code)]\nmod generated_assets {"
MODULE_END = "}\n\n#[allow(unused_imports)]\npub use self::generated_assets::*;"
MODULE_HEADINGS = {
    "palette": "// Palettes that textures share",
    "texture": "// Textures",
    "mesh": "// Meshes (per-patch data + mesh descriptors)",
}

MESH_HEADING = "/// Overall mesh bounding box (model space)"

NAMED_ALLOWED = "#[allow(clippy::approx_constant)]\n"
LARGE_ALLOWED = "#[allow(clippy::large_const_arrays)]\n"
# Clippy reports constants above 16 KiB; a patch descriptor takes 56 bytes on a 64-bit host.
LARGE_BYTES = 16 * 1024
DESCRIPTOR_BYTES = 56


@dataclass(frozen=True)
class TextureWrapper:
    """The wrapper of a texture: its size, format and number of mip levels."""

    identifier: str
    source: str
    width: int
    height: int
    format: str
    levels: int

    @property
    def data_file(self) -> str:
        """The name of the file with the texels."""
        return f"{file_base(self.identifier)}_{self.format.lower()}.bin"

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """The width and height of every level."""
        return [level_size(self.width, self.height, level) for level in range(self.levels)]

    @property
    def level_bytes(self) -> list[int]:
        """The size of every level in the data; a level smaller than a block takes a whole block."""
        size = BLOCK_BYTES[self.format]
        return [-(-width // 4) * -(-height // 4) * size for width, height in self.sizes]

    def text(self) -> str:
        """Return the text of the wrapper."""
        name, total = self.identifier, sum(self.level_bytes)
        # The specification has a template with mip levels and one without.
        has_mips = self.levels > 1
        lines = [
            f"// Generated from: {comment_path(self.source)}",
            f"// Dimensions: {self.width}x{self.height}{' (base level)' if has_mips else ''}",
            f"// Format: {self.format}",
            *([f"// Mipmap Levels: {self.levels}"] if has_mips else []),
            f"// {'Total Size' if has_mips else 'Size'}: {total} bytes ({kilobytes(total)} KB)",
            # This is about the graphics processor's memory; nothing is aligned in flash.
            "// GPU Requirements: 4K-aligned base address",
            "",
            f"pub const {name}_WIDTH: u32 = {self.width};",
            f"pub const {name}_HEIGHT: u32 = {self.height};",
            f"pub const {name}_FORMAT: TextureFormat = TextureFormat::{self.format};",
            f"pub const {name}_MIP_LEVELS: u8 = {self.levels};"
            + ("" if has_mips else "  // Single level only"),
            f'pub const {name}_DATA: &[u8] = include_bytes!("{self.data_file}");',
            "",
            *(self._mip_lines() if has_mips else []),
            "// Usage in firmware:",
            *(_usage_with_mips(name) if has_mips else _usage(name)),
        ]
        return "\n".join(lines) + "\n"

    def _mip_lines(self) -> list[str]:
        sizes = self.level_bytes
        offsets = [0, *accumulate(sizes[:-1])]
        rows = zip(offsets, self.sizes, sizes, strict=True)
        return [
            "// Mipmap level offsets (bytes from start of DATA)",
            f"pub const {self.identifier}_MIP_OFFSETS: [usize; {self.levels}] = [",
            *(
                f"    {offset},  // mip {level}{'' if level else ' (base)'}: "
                f"{width}×{height}, {size} bytes"
                for level, (offset, (width, height), size) in enumerate(rows)
            ),
            "];",
            "",
        ]


def _usage(name: str) -> list[str]:
    return [
        f"// gpu.set_texture(0, {name}_WIDTH, {name}_HEIGHT,",
        f"//                  {name}_FORMAT, {name}_DATA);",
    ]


def _usage_with_mips(name: str) -> list[str]:
    constants = ("WIDTH", "HEIGHT", "FORMAT", "MIP_LEVELS", "DATA")
    return [
        "// gpu.upload_texture_with_mipmaps(",
        "//     0,  // slot",
        *(f"//     {name}_{constant}," for constant in constants),
        f"//     &{name}_MIP_OFFSETS",
        "// );",
    ]


@dataclass(frozen=True)
class PatchInfo:
    """The counts of one patch, and the bounding box of its positions before quantisation."""

    vertices: int
    entries: int
    low: Vector
    high: Vector

    @property
    def size_bytes(self) -> int:
        """The size of the patch's data."""
        # 16 bytes a vertex (8 numbers of 16 bits) and one for each entry.
        return 16 * self.vertices + self.entries


@dataclass(frozen=True)
class PatchWrapper:
    """The wrapper of patch `number` of a mesh with `total` patches."""

    identifier: str
    source: str
    number: int
    total: int
    patch: PatchInfo

    @property
    def data_file(self) -> str:
        """The name of the file with vertices and entries."""
        return f"{file_base(self.identifier)}_patch{self.number}.bin"

    def text(self) -> str:
        """Return the text of the wrapper."""
        patch, name = self.patch, f"{self.identifier}_PATCH{self.number}"
        place = f"(patch {self.number} of {self.total})"
        return (
            f"// Generated from: {comment_path(self.source)} {place}\n"
            f"// Vertices: {patch.vertices}, Entries: {patch.entries}\n"
            f"// Patch AABB: ({vector_text(patch.low)}) to ({vector_text(patch.high)})\n"
            f"// Data size: {patch.size_bytes} bytes "
            "(SoA blob: u16 pos + i16 norm + i16 uv + u8 idx)\n"
            "\n"
            f"{_patch_text(name, patch)}"
            f'pub const {name}_DATA: &[u8] = include_bytes!("{self.data_file}");\n'
        )


@dataclass(frozen=True)
class MeshDescriptor:
    """The wrapper of a whole mesh: the box over which positions are quantised, and its patches."""

    identifier: str
    source: str
    low: Vector
    high: Vector
    patches: Sequence[PatchInfo]

    def text(self) -> str:
        """Return the text of the descriptor."""
        return f"{self._head_text()}\n{self._body_text()}"

    def _head_text(self) -> str:
        """Return the comment at the top."""
        vertices = sum(patch.vertices for patch in self.patches)
        entries = sum(patch.entries for patch in self.patches)
        return (
            f"// Generated from: {comment_path(self.source)}\n"
            f"// Patches: {len(self.patches)}\n"
            f"// Total vertices: {vertices}, Total entries: {entries}\n"
        )

    def _body_text(self) -> str:
        """Return the constants of the whole mesh."""
        name, count = self.identifier, len(self.patches)
        # An inner attribute is impossible in an included file, so each constant gets its own.
        is_large = count * DESCRIPTOR_BYTES > LARGE_BYTES
        corners = [value for patch in self.patches for value in (*patch.low, *patch.high)]
        return (
            f"{MESH_HEADING}\n"
            "/// Also serves as quantization AABB for u16 position encoding\n"
            f"{_box_text(name, self.low, self.high)}"
            f"pub const {name}_PATCH_COUNT: usize = {count};\n"
            "\n"
            "/// Per-patch descriptors\n"
            f"{NAMED_ALLOWED if looks_named(vector_texts(corners)) else ''}"
            f"{LARGE_ALLOWED if is_large else ''}"
            f"pub const {name}_PATCHES: [MeshPatchDescriptor; {count}] = [\n"
            f"{''.join(self._row(number, patch) for number, patch in enumerate(self.patches))}"
            "];\n"
        )

    def _row(self, number: int, patch: PatchInfo) -> str:
        return (
            "    MeshPatchDescriptor {\n"
            f"        data: {self.identifier}_PATCH{number}_DATA,\n"
            f"        aabb_min: [{vector_text(patch.low)}],\n"
            f"        aabb_max: [{vector_text(patch.high)}],\n"
            f"        vertex_count: {patch.vertices},\n"
            f"        entry_count: {patch.entries},\n"
            "    },\n"
        )


@dataclass(frozen=True)
class PackedMesh(MeshDescriptor):
    """The one wrapper of a mesh with all patches in one data file, one after another."""

    @property
    def data_file(self) -> str:
        """The name of the file with vertices and entries of all patches."""
        return f"{file_base(self.identifier)}_patches.bin"

    @property
    def offsets(self) -> list[int]:
        """The place of each patch in the data, and the size of the data."""
        return [0, *accumulate(patch.size_bytes for patch in self.patches)]

    def text(self) -> str:
        """Return the text of the wrapper: the constants of every patch, then those of the mesh."""
        name, offsets = self.identifier, self.offsets
        patches = [
            f"{_patch_text(f'{name}_PATCH{number}', patch)}"
            # A constant may be cut with split_at since Rust 1.71, with a range not yet.
            f"pub const {name}_PATCH{number}_DATA: &[u8] = "
            f"{name}_DATA.split_at({offsets[number]}).1.split_at({patch.size_bytes}).0;\n"
            for number, patch in enumerate(self.patches)
        ]
        return (
            f"{self._head_text()}"
            f"// Data size: {offsets[-1]} bytes "
            "(of each patch a SoA blob: u16 pos + i16 norm + i16 uv + u8 idx)\n"
            "\n"
            f'pub const {name}_DATA: &[u8] = include_bytes!("{self.data_file}");\n'
            "\n"
            f"{''.join(patches)}"
            "\n"
            f"{self._body_text()}"
        )


def _patch_text(name: str, patch: PatchInfo) -> str:
    """Return the constants of a patch, but for its data."""
    return (
        f"pub const {name}_VERTEX_COUNT: usize = {patch.vertices};\n"
        f"pub const {name}_ENTRY_COUNT: usize = {patch.entries};\n"
        f"{_box_text(name, patch.low, patch.high)}"
    )


def _box_text(name: str, low: Vector, high: Vector) -> str:
    """Return the constants of a box's two corners."""
    lines = []
    for corner, values in (("MIN", low), ("MAX", high)):
        allowed = NAMED_ALLOWED if looks_named(vector_texts(values)) else ""
        text = vector_text(values)
        lines.append(f"{allowed}pub const {name}_AABB_{corner}: [f32; 3] = [{text}];\n")
    return "".join(lines)


@dataclass(frozen=True)
class RustModule:
    """`mod.rs`: the folder of the sources, and the wrapper files by kind."""

    source_root: str
    textures: Sequence[str]
    meshes: Sequence[str]
    palettes: Sequence[str] = ()

    @property
    def files(self) -> dict[str, Sequence[str]]:
        """The wrapper files by kind, in the order of the text."""
        return {"palette": self.palettes, "texture": self.textures, "mesh": self.meshes}

    def text(self) -> str:
        """Return the text of the module: the types, then an `include!` of every wrapper."""
        # Not indented, so that the lines are the specification's.
        lines = [
            "// Auto-generated by Cartwright - do not edit",
            f"// Source: {comment_path(self.source_root)}/",
            "",
            MODULE_BEGIN,
            MODULE_TYPES.rstrip("\n"),
        ]
        for kind, files in self.files.items():
            if files:
                lines += ["", MODULE_HEADINGS[kind], *(f'include!("{file}");' for file in files)]
        return "\n".join([*lines, MODULE_END]) + "\n"
