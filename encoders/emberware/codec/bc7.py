"""BC7 blocks through etcpak, and back through texture2ddecoder: both are optional dependencies.

etcpak weighs channels by how bright they look unless it is told not to. Textures of games hold more
than colours, so all channels count alike here, which also gives the least squared error.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError

Image = npt.NDArray[np.uint8]

INSTALL = "Install it with `pip install cartwright-build[bc7]`"
BLOCK_BYTES = 16
# The most thorough search that the encoder has.
THOROUGH = 4
ALL_MODES, MODE_6 = 0xFFFFFFFF, 1 << 6
# A block of mode 6 begins with six zeros and a one, lowest bit first.
MODE_6_MASK, MODE_6_START = 0x7F, 0x40
# In mode 6: the bits of both alpha ends, the lowest bit of the first end, and that of the second.
ALPHA_ENDS, FIRST_LOW, SECOND_LOW = ((1 << 14) - 1) << 49, 1 << 63, 1


def compress_bc7(image: Image, name: str) -> bytes:
    """Compress an RGBA picture (height, width, 4) whose sides are multiples of four.

    Where the picture is opaque, so are all blocks.
    """
    check_sides(image, name, "BC7")
    if image[..., 3].min() < 255:
        return _compress(image, name, ALL_MODES)
    words = np.frombuffer(_compress(image, name, ALL_MODES, opaque=True), "<u8").reshape(-1, 2)
    fades = _fading_blocks(words)
    if not fades.any():
        return words.tobytes()
    # Without mode 6 no block of an opaque picture has an alpha below 255.
    others = np.frombuffer(_compress(image, name, ALL_MODES & ~MODE_6), "<u8").reshape(-1, 2)
    return np.where(fades[:, None], others, words).tobytes()


def check_sides(image: Image, name: str, form: str) -> None:
    """Refuse a picture that does not divide into blocks."""
    height, width = image.shape[:2]
    if width % 4 or height % 4:
        facts = {"file": name, "size": f"{width} x {height}", "allowed": "multiples of 4"}
        hint = 'Scale the image, or write `format = "rgba8"`.'
        raise EncodeError(f"texture does not divide into {form} blocks", facts, hint)


def _compress(image: Image, name: str, modes: int, *, opaque: bool = False) -> bytes:
    library = _load_etcpak(name)
    params = library.BC7CompressBlockParams()
    params.init_linear_weights()
    params.m_perceptual, params.m_uber_level, params.m_mode_mask = False, THOROUGH, modes
    if opaque:
        # The lowest bit of the ends, shared with alpha, has to be 1 for an alpha of 255.
        params.m_pbit1_weight = 0.0
    height, width = image.shape[:2]
    blocks: bytes = library.compress_bc7(image.tobytes(), width, height, params)
    return blocks


def _fading_blocks(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Tell which blocks of mode 6 have an alpha below 255; the other modes in use have none."""
    low, high = words[:, 0], words[:, 1]
    opaque = np.uint64(ALPHA_ENDS | FIRST_LOW)
    is_opaque = ((low & opaque) == opaque) & ((high & np.uint64(SECOND_LOW)) != 0)
    fades: npt.NDArray[np.bool_] = ((low & np.uint64(MODE_6_MASK)) == MODE_6_START) & ~is_opaque
    return fades


def decode_bc7(blocks: bytes, width: int, height: int, name: str) -> Image:
    """Decode the blocks of a picture to RGBA."""
    library = _load_decoder(name)
    if len(blocks) != -(-width // 4) * -(-height // 4) * BLOCK_BYTES:
        raise EncodeError("not the blocks of a picture", {"file": name, "bytes": len(blocks)})
    pixels = np.frombuffer(library.decode_bc7(blocks, width, height), np.uint8)
    # The decoder gives blue first.
    return np.ascontiguousarray(pixels.reshape(height, width, 4)[..., [2, 1, 0, 3]])


# Plain imports, so that the versions of both packages count for the keys of the cache.


def _load_etcpak(name: str) -> ModuleType:
    try:
        import etcpak
    except ImportError as error:
        raise _not_installed("etcpak", "make", name, error) from error
    library: ModuleType = etcpak
    return library


def _load_decoder(name: str) -> ModuleType:
    try:
        import texture2ddecoder
    except ImportError as error:
        raise _not_installed("texture2ddecoder", "show", name, error) from error
    library: ModuleType = texture2ddecoder
    return library


def _not_installed(package: str, purpose: str, name: str, error: ImportError) -> EncodeError:
    problem = f"{package} is needed to {purpose} BC7 textures"
    hint = f'{INSTALL}, or write `format = "rgba8"`.'
    return EncodeError(problem, {"file": name, "reason": error}, hint)
