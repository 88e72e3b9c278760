"""The generated Rust files of indexed textures and of the palettes that textures share.

As in `rust_writer`, a text depends on its value alone. Register words leave out what the firmware
chooses: addresses and palette slots.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoders.rp2350.format import PALETTE_BYTES
from encoders.rp2350.identifier import comment_path, file_base
from encoders.rp2350.indexed_data import index_bytes
from encoders.rp2350.rust_literal import kilobytes

# Bits of the register TEXn_CFG; filter, format and wrapping are 0: nearest, INDEXED8_2X2, repeat.
ENABLE = 1
WIDTH_SHIFT, HEIGHT_SHIFT = 8, 12
# The bit of the registers PALETTE0 and PALETTE1 that starts the transfer.
LOAD = 1 << 16


@dataclass(frozen=True)
class IndexedWrapper:
    """The wrapper of an indexed texture; `palette` names a shared palette, or is empty."""

    identifier: str
    source: str
    width: int
    height: int
    palette: str = ""

    @property
    def data_file(self) -> str:
        """The name of the file with the indices."""
        return f"{file_base(self.identifier)}_indexed8.bin"

    @property
    def palette_file(self) -> str:
        """The name of the file with the palette, be it shared or not."""
        return f"{file_base(self.palette or f'{self.identifier}_PALETTE')}.bin"

    @property
    def config(self) -> int:
        """The word of the register TEXn_CFG for address 0 and palette slot 0."""
        width_log2, height_log2 = self.width.bit_length() - 1, self.height.bit_length() - 1
        return ENABLE | width_log2 << WIDTH_SHIFT | height_log2 << HEIGHT_SHIFT

    def text(self) -> str:
        """Return the text of the wrapper."""
        name, size = self.identifier, index_bytes(self.width, self.height)
        palette = self.palette or f'include_bytes!("{self.palette_file}")'
        return (
            f"// Generated from: {comment_path(self.source)}\n"
            f"// Dimensions: {self.width}x{self.height}\n"
            "// Format: INDEXED8_2X2\n"
            f"// Size: {size} bytes ({kilobytes(size)} KB), palette: {PALETTE_BYTES} bytes\n"
            "// GPU Requirements: 512-byte aligned base addresses of indices and palette\n"
            "\n"
            f"pub const {name}_WIDTH: u32 = {self.width};\n"
            f"pub const {name}_HEIGHT: u32 = {self.height};\n"
            f"pub const {name}_WIDTH_LOG2: u8 = {self.width.bit_length() - 1};\n"
            f"pub const {name}_HEIGHT_LOG2: u8 = {self.height.bit_length() - 1};\n"
            f"pub const {name}_FORMAT: u8 = 0;  // INDEXED8_2X2\n"
            f'pub const {name}_DATA: &[u8] = include_bytes!("{self.data_file}");\n'
            f"pub const {name}_PALETTE: &[u8; {PALETTE_BYTES}] = {palette};\n"
            "\n"
            "/// TEX0_CFG or TEX1_CFG without palette slot and base address\n"
            f"pub const {name}_TEX_CFG: u64 = 0x{self.config:016x};\n"
            f"{_load_text(f'{name}_PALETTE')}"
            "\n"
            "// Usage in firmware:\n"
            f"// gpu.write(PALETTE0, {name}_PALETTE_LOAD | palette_address / 512);\n"
            f"// gpu.write(TEX0_CFG, {name}_TEX_CFG | palette_slot << 24 | address / 512 << 32);\n"
        )


@dataclass(frozen=True)
class PaletteWrapper:
    """The wrapper of a palette that textures share; its identifier ends with `_PALETTE`."""

    identifier: str
    sources: tuple[str, ...]

    @property
    def data_file(self) -> str:
        """The name of the file with the entries."""
        return f"{file_base(self.identifier)}.bin"

    def text(self) -> str:
        """Return the text of the wrapper."""
        return (
            "// Palette of these textures:\n"
            f"{''.join(f'//   {comment_path(source)}{chr(10)}' for source in self.sources)}"
            "// Format: 256 blocks of 2x2 RGBA8888\n"
            f"// Size: {PALETTE_BYTES} bytes ({kilobytes(PALETTE_BYTES)} KB)\n"
            "// GPU Requirements: 512-byte aligned base address\n"
            "\n"
            f"pub const {self.identifier}: &[u8; {PALETTE_BYTES}] = "
            f'include_bytes!("{self.data_file}");\n'
            "\n"
            f"{_load_text(self.identifier)}"
        )


def _load_text(name: str) -> str:
    """Return the constant that loads a palette."""
    return (
        "/// PALETTE0 or PALETTE1 without base address: load the palette\n"
        f"pub const {name}_LOAD: u64 = 0x{LOAD:016x};\n"
    )
