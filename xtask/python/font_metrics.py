"""Makes the widths and outlines of letters with which nnx-chart lays out and draws texts.

Run by hand, with fontTools and a DejaVuSans.ttf:

    python xtask/python/font_metrics.py DejaVuSans.ttf > crates/nnx-chart/src/font_metrics.txt
"""

import sys

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont

# Printable ASCII, and what the charts say beyond it; the last one stands for all others.
CHARACTERS = [chr(code) for code in range(0x20, 0x7F)] + list("–…·×−\ufffd")


class Pen(BasePen):
    def __init__(self, glyphs):
        super().__init__(glyphs)
        self.parts = []

    def add(self, letter, *points):
        numbers = " ".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f"{letter}{numbers}")

    def _moveTo(self, point):
        self.add("M", point)

    def _lineTo(self, point):
        self.add("L", point)

    def _qCurveToOne(self, control, point):
        self.add("Q", control, point)

    def _closePath(self):
        self.parts.append("Z")


def main():
    font = TTFont(sys.argv[1])
    glyphs = font.getGlyphSet()
    names = font.getBestCmap()
    version = font["name"].getDebugName(5)
    print(f"# Outlines of DejaVu Sans, {version}, under the licence in LICENSE-DejaVu.")
    print("# Made by xtask/python/font_metrics.py: code point, advance, outline; 2048 units an em, y up.")
    assert font["head"].unitsPerEm == 2048
    for character in CHARACTERS:
        name = names[ord(character)]
        pen = Pen(glyphs)
        glyphs[name].draw(pen)
        print(f"{ord(character):x} {glyphs[name].width} {' '.join(pen.parts)}".rstrip())


main()
