"""Make a picture small without a library for pictures: 256 colours are enough for pages, and the browser can count."""

from __future__ import annotations

import base64
import struct
import zlib

from playwright.async_api import Page

#: Count the colours, keep the most frequent ones and give every other pixel the nearest of them.
_COUNT = """async data => {
    const blob = await (await fetch("data:image/png;base64," + data)).blob();
    const bitmap = await createImageBitmap(blob);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const pixels = context.getImageData(0, 0, bitmap.width, bitmap.height).data;
    const colours = new Uint32Array(pixels.length / 4);
    const counts = new Map();
    for (let at = 0; at < colours.length; at++) {
        const colour = (pixels[4 * at] << 16) | (pixels[4 * at + 1] << 8) | pixels[4 * at + 2];
        colours[at] = colour;
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    const order = [...counts].sort((one, other) => other[1] - one[1] || one[0] - other[0]).map(one => one[0]);
    const palette = order.slice(0, 256);
    const apart = (one, other) => [16, 8, 0].reduce((sum, bits) => {
        const difference = ((one >> bits) & 255) - ((other >> bits) & 255);
        return sum + difference * difference;
    }, 0);
    const places = new Map(palette.map((colour, at) => [colour, at]));
    for (const colour of order.slice(256)) {
        let nearest = 0;
        palette.forEach((other, at) => {
            if (apart(colour, other) < apart(colour, palette[nearest])) nearest = at;
        });
        places.set(colour, nearest);
    }
    let indices = "";
    for (const colour of colours) indices += String.fromCharCode(places.get(colour));
    return {width: bitmap.width, palette, indices: btoa(indices)};
}"""


async def small_png(page: Page, picture: bytes) -> bytes:
    """Return the picture with at most 256 colours; the page must be an empty one, whose policy forbids nothing."""
    counted = await page.evaluate(_COUNT, base64.b64encode(picture).decode())
    indices = base64.b64decode(counted["indices"])
    width: int = counted["width"]
    height = len(indices) // width
    rows = b"".join(b"\0" + indices[at * width : (at + 1) * width] for at in range(height))
    palette = b"".join(struct.pack(">I", colour)[1:] for colour in counted["palette"])
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
