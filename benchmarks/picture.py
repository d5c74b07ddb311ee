"""Draw docs/quality.svg from the results of quality.py.

python benchmarks/picture.py docs/quality.csv docs/quality.svg
"""

import sys
from pathlib import Path

import numpy as np

from paper.rows import mean, names, those
from quality import SETS
from quality_store import read

COLOURS = {"omvfs": "#0072B2", "column sum": "#E69F00", "variance": "#999999"}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 300, 46, 46, 34
# Sets in a row of the picture, and how much lower the next row is.
IN_A_ROW, LOWER = 6, 254


def means(rows):
    """Return the mean over sizes of each order, by set and method, where all methods are there."""
    found = {}
    for name in SETS:
        own = those(rows, set=name, clustering="stacked")
        found[name] = {
            method: [mean(each, "NMI", order=order) for order in names(each, "order")]
            for method in COLOURS
            if (each := those(own, method=method))
        }
    return {name: each for name, each in found.items() if len(each) == len(COLOURS)}


def draw(found):
    """Return the picture: a group of bars a set, with the spread over orders."""
    sets = list(found)
    n_orders = max(len(each) for methods in found.values() for each in methods.values())
    starts = range(0, len(sets), IN_A_ROW)
    height = HEIGHT + LOWER * (len(starts) - 1)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        (
            f'<text x="{LEFT}" y="18" font-size="13">NMI of clusters found with the selected '
            f"features alone, mean over sizes; bars: spread over {n_orders} stream orders</text>"
        ),
    ]
    for row, start in enumerate(starts):
        some = {name: found[name] for name in sets[start : start + IN_A_ROW]}
        parts += draw_row(some, HEIGHT - BOTTOM + LOWER * row)
    for i, (method, colour) in enumerate(COLOURS.items()):
        x = LEFT + i * 110
        parts.append(f'<rect x="{x}" y="26" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="36">{method}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def draw_row(found, floor):
    """Return the parts of one row of sets, whose bars stand on the floor."""
    scale, parts = (HEIGHT - BOTTOM - TOP) / 0.9, []
    for value in (0.0, 0.2, 0.4, 0.6, 0.8):
        y = floor - value * scale
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:.1f}</text>')
    group = (WIDTH - LEFT - 10) / IN_A_ROW
    bar = group * 0.8 / len(COLOURS)
    for g, (name, methods) in enumerate(found.items()):
        start = LEFT + g * group + group * 0.1
        for b, (method, colour) in enumerate(COLOURS.items()):
            mean, spread = np.mean(methods[method]), np.std(methods[method])
            x, y = start + b * bar, floor - mean * scale
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar - 2:.1f}" height="{mean * scale:.1f}" '
                f'fill="{colour}"/>'
            )
            middle = x + bar / 2 - 1
            high, low = y - spread * scale, y + spread * scale
            parts.append(
                f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{high:.1f}" y2="{low:.1f}" '
                'stroke="black"/>'
            )
            parts.append(
                f'<text x="{middle:.1f}" y="{high - 3:.1f}" text-anchor="middle" '
                f'font-size="10">{mean:.2f}</text>'
            )
        x = start + group * 0.4
        parts.append(f'<text x="{x:.1f}" y="{floor + 20}" text-anchor="middle">{name}</text>')
    return parts


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(draw(means(read(source))))
