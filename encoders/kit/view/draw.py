"""Draw any view to a picture, and encode it as a compressed PNG."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.pixel import Rgba8
from encoders.kit.view.camera import choose_camera
from encoders.kit.view.raster import draw_soup
from encoders.kit.view.request import ViewRequest, check_frame
from encoders.kit.view.scene import (
    View,
    ViewPicture,
    ViewScene,
    ViewSheet,
    ViewSound,
)
from encoders.kit.view.sound_wave import draw_wave
from encoders.kit.view.soup import make_soup

SCENE_SIZE, STRIP_SIZE, SOUND_SIZE, CELL_SIZE = (640, 480), (960, 320), (640, 200), (160, 140)
# Each pixel of a scene is the mean of so many by so many, which smooths edges.
FINE = 2
# A clip is shown as a strip of this many frames.
STRIP = 6
BACKGROUND = (56, 62, 72)
TITLE_HEIGHT, GAP = 14, 6
TEXT = (225, 228, 232)


def render_png(view: View, request: ViewRequest | None = None) -> bytes:
    """Draw a view as a PNG file; scenes stand before a plain background."""
    pixels = draw_view(view, request or ViewRequest())
    if not isinstance(view, ViewPicture):
        pixels = over_background(pixels)
    return compress_png(pixels)


def draw_view(view: View, request: ViewRequest) -> npt.NDArray[np.uint8]:
    """Draw a view; RGBA where parts of the picture are empty."""
    if isinstance(view, ViewScene):
        return draw_scene(view, request)
    if isinstance(view, ViewSheet):
        return draw_sheet(view, request)
    check_frame(request, 0)
    if isinstance(view, ViewSound):
        return draw_wave(view, request.size or SOUND_SIZE)
    return fit_picture(view.pixels, request.size)


def draw_scene(scene: ViewScene, request: ViewRequest) -> npt.NDArray[np.uint8]:
    """Draw a scene, or a strip of frames where it has a clip and no frame is asked for."""
    frames = 0 if scene.clip is None else scene.clip.frame_count
    check_frame(request, frames)
    if scene.renderer is not None:
        return scene.renderer(request)
    shown: list[int | None] = [request.frame]
    if frames and request.frame is None:
        steps = min(STRIP, frames)
        # The last frame of a clip that repeats is its first one again, so it is left out.
        shown = [number * frames // steps for number in range(steps)]
    return _draw_poses(scene, shown, request)


def _draw_poses(scene: ViewScene, frames: list[int | None], request: ViewRequest) -> Rgba8:
    width, height = request.size or (SCENE_SIZE if len(frames) == 1 else STRIP_SIZE)
    width = max(width // len(frames), 1)
    soups = [make_soup(scene, frame) for frame in frames]
    corners = np.concatenate([soup.points for soup in soups])
    if not len(corners):
        raise EncodeError("there is nothing to draw", {"triangles": 0})
    # One camera for the whole strip, so that frames can be compared.
    camera = choose_camera(request, corners, (width, height))
    fine = (width * FINE, height * FINE)
    drawn = [shrink(draw_soup(soup, scene.materials, camera, fine)) for soup in soups]
    return np.concatenate(drawn, axis=1)


def shrink(pixels: Rgba8) -> Rgba8:
    """Return the mean of each FINE x FINE pixels, colours only of those that are not empty."""
    from PIL import Image

    size = (pixels.shape[1], pixels.shape[0])
    # As four plain channels: Pillow would multiply colours by an alpha, and lose bits of them.
    small = np.array(Image.frombuffer("RGBX", size, pixels, "raw", "RGBX", 0, 1).reduce(FINE))
    at = np.nonzero((small[..., 3] > 0) & (small[..., 3] < 255))
    # Empty pixels are zeros in all channels, so they add nothing to the sum of colours.
    parts = [pixels[row::FINE, column::FINE][at] for row in range(FINE) for column in range(FINE)]
    total = np.stack(parts).sum(axis=0, dtype=np.uint16)
    filled = total[:, 3:] // 255
    small[at] = np.column_stack([(total[:, :3] + filled // 2) // filled, total[:, 3:] // FINE**2])
    return small


def over_background(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Put a picture with alpha on a plain background; return RGB."""
    if pixels.shape[2] == 3:
        return pixels
    alpha = pixels[..., 3:].astype(np.float32) / 255
    mixed = pixels[..., :3] * alpha + np.array(BACKGROUND, np.float32) * (1 - alpha)
    return (mixed + 0.5).astype(np.uint8)


def fit_picture(pixels: Rgba8, size: tuple[int, int] | None) -> Rgba8:
    """Scale a picture into a size, enlarged by whole texels or reduced; None keeps it."""
    if size is None:
        return pixels
    height, width = pixels.shape[:2]
    factor = min(size[0] / width, size[1] / height)
    if factor >= 1:
        whole = int(factor)
        return pixels.repeat(whole, axis=0).repeat(whole, axis=1)
    from PIL import Image

    small = (max(round(width * factor), 1), max(round(height * factor), 1))
    return np.array(Image.fromarray(pixels).resize(small, Image.Resampling.BOX))


def draw_sheet(sheet: ViewSheet, request: ViewRequest) -> Rgba8:
    """Draw all views of a sheet in rows of equal cells, each below its title."""
    from PIL import Image, ImageDraw

    cells = [(title, _draw_cell(view, request)) for title, view in sheet.cells]
    across = max(math.ceil(math.sqrt(len(cells))), 1)
    width, height = CELL_SIZE[0] + GAP, CELL_SIZE[1] + TITLE_HEIGHT + GAP
    down = max(math.ceil(len(cells) / across), 1)
    canvas = Image.new("RGB", (across * width + GAP, down * height + GAP), BACKGROUND)
    pen = ImageDraw.Draw(canvas)
    for number, (title, pixels) in enumerate(cells):
        left, top = GAP + number % across * width, GAP + number // across * height
        pen.text((left, top), _short(title), fill=TEXT)
        if pixels is not None:
            picture = Image.fromarray(pixels).convert("RGBA")
            # Small pictures stand in the middle of their cells.
            left += (CELL_SIZE[0] - picture.width) // 2
            top += TITLE_HEIGHT + (CELL_SIZE[1] - picture.height) // 2
            canvas.paste(picture, (left, top), picture)
    pixels = np.array(canvas.convert("RGBA"))
    return fit_picture(pixels, request.size)


def _short(title: str) -> str:
    """Return what fits over a cell, without characters that the built-in font lacks."""
    plain = title.encode("latin-1", "replace").decode("latin-1")
    return plain if len(plain) <= 26 else f"{plain[:24]}.."


def _draw_cell(view: View | None, request: ViewRequest) -> npt.NDArray[np.uint8] | None:
    if view is None:
        return None
    asked = replace(request, size=CELL_SIZE, frame=None, eye=None, at=None)
    if isinstance(view, ViewScene) and view.clip is not None:
        # A strip would be too narrow: the frame in the middle stands for the clip.
        asked = replace(asked, frame=view.clip.frame_count // 2)
    try:
        return draw_view(view, asked)
    except EncodeError:  # one empty mesh must not hide the rest of the sheet
        return None


def compress_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Encode a picture as PNG; what zlib makes of it may differ between machines."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG", compress_level=6)
    return stream.getvalue()
