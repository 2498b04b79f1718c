"""Pictures of pages have few colours: written with a palette they take a third."""
import array
import collections
import struct
import zlib

COLOURS, FAR = 256, 96


def _unfilter(data, width, height, channels):
    stride = width * channels
    rows, before, at = [], bytearray(stride), 0
    for _ in range(height):
        kind, row = data[at], bytearray(data[at + 1:at + 1 + stride])
        at += 1 + stride
        if kind == 1:
            for i in range(channels, stride):
                row[i] = (row[i] + row[i - channels]) & 255
        elif kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, before))
        elif kind == 3:
            for i in range(stride):
                row[i] = (row[i] + ((row[i - channels] if i >= channels else 0) + before[i]) // 2) & 255
        elif kind == 4:
            for i in range(stride):
                a, b, c = (row[i - channels], before[i], before[i - channels]) if i >= channels else (0, before[i], 0)
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                row[i] = (row[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        rows.append(row)
        before = row
    return rows


def shrink(png):
    """@param png bytes of an 8-bit RGB or RGBA picture without interlacing, as Chromium makes them @returns bytes of one with a palette"""
    at, parts, data = 8, {}, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        at += 12 + length
        if kind == b"IDAT":
            data += body
        parts[kind] = body
    width, height, depth, colour = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    if colour == 3:
        return png  # it has one
    channels = {2: 3, 6: 4}[colour]
    if depth != 8:
        raise ValueError(f"{depth} bits in a channel")
    rows = _unfilter(zlib.decompress(data), width, height, channels)
    pixels = [[tuple(row[i:i + 3]) for i in range(0, len(row), channels)] for row in rows]
    counts = collections.Counter(p for row in pixels for p in row)
    palette = [c for c, _ in counts.most_common(COLOURS - FAR)]
    number = {c: i for i, c in enumerate(palette)}
    # Of the rest those that are farthest from all in it, so that no small sign gets another colour.
    distance = lambda a, b: (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2
    near = {c: min((distance(c, p), i) for i, p in enumerate(palette)) for c in counts if c not in number}
    while near and len(palette) < COLOURS:
        far = max(near, key=near.get)
        del near[far]
        number[far] = len(palette)
        palette.append(far)
        for c, (far_by, _) in near.items():
            if distance(c, far) < far_by:
                near[c] = (distance(c, far), number[far])
    number |= {c: i for c, (_, i) in near.items()}
    packed = zlib.compress(b"".join(b"\0" + array.array("B", (number[p] for p in row)).tobytes() for row in pixels), 9)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    return (png[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", b"".join(bytes(c) for c in palette)) +
            chunk(b"IDAT", packed) + chunk(b"IEND", b""))
