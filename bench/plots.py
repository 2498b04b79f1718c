"""Line plots as SVG, without packages: panels side by side that share a logarithmic x axis."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 400, 260  # of the area of one panel's lines, in pixels
LEFT, TOP, RIGHT, BOTTOM = 70, 60, 90, 55  # margins: numbers, title, names of the lines, x axis
COLOURS = ("#1f5fa8", "#c8501e", "#3a8a3a")  # distinguishable with color blindness


def steps(highest, about=4):
    """Round numbers from 0 to above the highest."""
    rough = highest / about if highest > 0 else 1
    power = 10 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough)
    return [i * step for i in range(math.ceil(highest / step) + 1)] if highest > 0 else [0, 1]


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def panel(left, x_label, xs, y_label, lines):
    """xs: (position, its name); lines: {name: y for each of xs}. y begins at 0."""
    low, high = (math.log(xs[i][0]) for i in (0, -1))
    marks = steps(max(max(ys) for ys in lines.values()))

    def at(x, y):
        share = (math.log(x) - low) / (high - low) if high > low else 0.5
        return left + LEFT + share * WIDTH, TOP + HEIGHT * (1 - y / marks[-1])

    out = [text(left + LEFT, TOP - 14, y_label, "start", 'font-weight="bold"')]
    for mark in marks:
        x, y = at(xs[0][0], mark)
        x = left + LEFT
        out.append(f'<path d="M{x:.1f} {y:.1f}h{WIDTH}" stroke="#ddd"/>' + text(x - 8, y + 4, f"{mark:,g}" if mark < 1e6 else f"{mark:,.0f}", "end"))
    for position, name in xs:
        x, y = at(position, 0)
        out.append(f'<path d="M{x:.1f} {y:.1f}v5" stroke="#555"/>' + text(x, y + 20, name))
    out.append(text(left + LEFT + WIDTH / 2, TOP + HEIGHT + 42, x_label))
    ends = []
    for (name, ys), colour in zip(lines.items(), COLOURS):
        points = [at(position, y) for (position, _), y in zip(xs, ys)]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        ends.append((points[-1], name, colour))
    height = math.inf
    for (x, y), name, colour in sorted(ends, key=lambda end: -end[0][1]):  # from below; names do not overlap
        height = min(y, height - 15)
        out.append(text(x + 8, height + 4, name, "start", f'fill="{colour}"'))
    return "".join(line + "\n" for line in out)


def svg(title, x_label, xs, panels):
    """panels: (label of the y axis with its unit, {name of a line: y for each of xs})."""
    one = LEFT + WIDTH + RIGHT
    width, height = one * len(panels), TOP + HEIGHT + BOTTOM
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13" fill="#222" stroke="none">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
        + text(width / 2, 22, title, more='font-size="15"')
        + "\n"
        + "".join(panel(i * one, x_label, xs, y_label, lines) for i, (y_label, lines) in enumerate(panels))
        + "</svg>\n"
    )
