"""Heat maps of kernels and of a matrix: palette PNGs as data URIs, many samples on few pixels."""

import base64
import struct
import zlib
from collections.abc import Mapping

import numpy as np

from absentia.app.report._format import format_number
from absentia.core import Array
from absentia.core.svg import Markup, element, fill

_LEVELS = 64
_ANCHORS = ("14204a", "2d4f85", "3f8296", "6db58a", "c0d978", "fdf3ae")  # of even, rising lightness
MAX_SIDE = 260  # pixels of a map; beyond, each is the mean of a block
LEGEND = Markup('<p class="legend"><span><i class="key absent"></i>absent</span></p>')


def _make_palette() -> Array:
    """Colours along the anchors, (_LEVELS, 3) of 0 to 255."""
    anchors = np.array([list(bytes.fromhex(anchor)) for anchor in _ANCHORS])
    where = np.linspace(0, len(anchors) - 1, _LEVELS)
    channels = [np.interp(where, np.arange(len(anchors)), channel) for channel in anchors.T]
    return np.rint(np.column_stack(channels)).astype(np.uint8)


_PALETTE = _make_palette()


def _encode_png(values: Array, low: float, high: float) -> str:
    """`values` (height, width) from `low` to `high` as colours; what is not finite is transparent."""
    finite = np.isfinite(values)
    shade = np.clip((np.where(finite, values, low) - low) / ((high - low) or 1.0), 0, 1)
    index = np.where(finite, np.rint(shade * (_LEVELS - 1)), _LEVELS).astype(np.uint8)
    lines = np.insert(index, 0, 0, axis=1)  # each begins with its filter: none

    def pack(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", *values.shape[::-1], 8, 3, 0, 0, 0),  # 8 bits, by palette
        b"PLTE": _PALETTE.tobytes() + b"\x9e" * 3,
        b"tRNS": b"\xff" * _LEVELS + b"\0",
        b"IDAT": zlib.compress(lines.tobytes(), 9),
        b"IEND": b"",
    }
    content = b"\x89PNG\r\n\x1a\n" + b"".join(pack(*chunk) for chunk in chunks.items())
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")


def draw_panel(head: Markup | str, what: str, maps: Mapping[str, Array]) -> Markup:
    """Maps of `what` by caption, in one scale that few extreme values do not stretch, and its bar."""
    values = np.concatenate([m[np.isfinite(m)] for m in maps.values()])
    low, high = np.quantile(values, [0.005, 0.995]).tolist() if values.size else (0.0, 1.0)
    figures = []
    for caption, drawn in maps.items():
        alt = f"Heat map of {what}: {caption[:1].lower()}{caption[1:]}"
        height, width = drawn.shape
        source = _encode_png(drawn, low, high)
        picture = element("img", class_="heat", alt=alt, width=width, height=height, src=source)
        figures.append(fill("<figure><figcaption>{}</figcaption>{}</figure>", caption, picture))
    stops = ",".join("#" + bytes(colour).hex() for colour in _PALETTE[::7])
    ends = [
        ("≤ " if values.size and values.min() < low else "") + format_number(low),
        ("≥ " if values.size and values.max() > high else "") + format_number(high),
    ]
    template = (
        '<article class="view"><div class="view-head">{}<div class="colourbar"><i style="background:'
        'linear-gradient(90deg,{})"></i><span class="ends"><span>{}</span><span>{}</span></span></div>'
        '</div><div class="panels">{}</div></article>'
    )
    return fill(template, head, stops, *ends, figures)


def average_blocks(values: Array, rows: Array, columns: Array) -> Array:
    """Means over the blocks that begin at `rows` and `columns`, of what is there; NaN where nothing is."""

    def add_up(A: Array) -> Array:
        return np.asarray(np.add.reduceat(np.add.reduceat(A, rows, axis=0), columns, axis=1))

    present = np.isfinite(values)
    counts = add_up(present.astype(float))
    means = np.full(counts.shape, np.nan)
    return np.divide(add_up(np.where(present, values, 0.0)), counts, out=means, where=counts > 0)
