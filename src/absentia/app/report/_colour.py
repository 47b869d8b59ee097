"""Colour maps of even, monotone lightness, and small palette PNGs as data URIs."""

import base64
import io
from typing import Any

import numpy as np

from absentia.core import Array

LEVELS = 64
ABSENT = LEVELS  # palette index of cells without a value
NEUTRAL = (158, 158, 158)  # carried by absent cells, which are transparent: the page hatches them
MARK = (214, 104, 36)  # samples whose rows were completed

# linear sRGB -> cone responses -> OKLab
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(rgb: Array) -> Array:
    """sRGB in 0..255 to OKLab, a space in which straight lines look even."""
    c = np.asarray(rgb) / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _TO_CONES.T) @ _TO_LAB.T)


def _srgb(lab: Array) -> Array:
    cones = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    c = np.clip(cones @ np.linalg.inv(_TO_CONES).T, 0, 1)
    gamma = np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(255 * gamma).astype(np.uint8))


def colour_map(*anchors: str, levels: int = LEVELS) -> Array:
    """``levels`` colours through the anchors, equally far apart in OKLab."""
    points = oklab(np.array([list(bytes.fromhex(anchor)) for anchor in anchors]))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    where = np.linspace(0, along[-1], levels)
    return _srgb(np.column_stack([np.interp(where, along, axis) for axis in points.T]))


VALUES = colour_map("14204a", "2d4f85", "3f8296", "6db58a", "c0d978", "fdf3ae")
ERRORS = colour_map("15131f", "4d1f5c", "a12f63", "e0604c", "f6ab55", "fff4cf")


def gamma(lut: Array) -> float:
    """Errors are shaded by their square root, so that small ones show beside large ones."""
    return 0.5 if lut is ERRORS else 1.0


def css_gradient(lut: Array, stops: int = 12) -> str:
    picked = lut[np.linspace(0, len(lut) - 1, stops).round().astype(int)]
    return f"linear-gradient(90deg,{','.join('#' + bytes(rgb).hex() for rgb in picked)})"


def heat_png(values: Array, lut: Array, low: float, high: float) -> str:
    """Palette PNG of ``values``; what is not finite becomes the transparent absent colour."""
    finite = np.isfinite(values)
    span = high - low if high > low else 1.0
    shade = np.clip((np.where(finite, values, low) - low) / span, 0, 1)
    index = np.where(finite, np.rint(shade ** gamma(lut) * (LEVELS - 1)), ABSENT).astype(np.uint8)
    palette = [*lut.ravel().tolist(), *NEUTRAL]
    return _data_uri(index, palette, transparency=ABSENT)


def strip_png(share: Array) -> str:
    """One line of pixels, the mark colour more opaque the larger the share."""
    index = np.rint(np.clip(share, 0, 1) * 15).astype(np.uint8)
    alpha = bytes(round(255 * level / 15) for level in range(16))
    return _data_uri(np.atleast_2d(index), list(MARK) * 16, transparency=alpha)


def _data_uri(index: Array, palette: list[int], **options: Any) -> str:
    from PIL import Image

    height, width = index.shape
    image = Image.frombytes("P", (width, height), np.ascontiguousarray(index).tobytes())
    image.putpalette(palette)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True, **options)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
