"""Make the fonts of figures and pages: Liberation Sans 2.1.5 cut to what they write, and renamed.

Under its own name another version that a machine has would be drawn with in its place; its licence
asks of changed versions that they have another name.  Needs fontTools with brotli, and Debian's
package fonts-liberation2:  ``python .ci/make_fonts.py /usr/share/fonts/truetype/liberation2``
"""

import sys
from itertools import product
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

NAME = "FSLBench Sans"
OUT = Path(__file__).resolve().parents[1] / "fslbench_data/render/fonts"
SIGNS = [(0x2010, 0x209F), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x25A0, 0x25FF)]
BLOCKS = {
    "ttf": [(0x20, 0x52F), (0x1E00, 0x1EFF), *SIGNS],  # drawn with
    "woff2": [(0x20, 0x17F), (0x370, 0x3FF), *SIGNS],  # embedded in each SVG and page
}

for style, kind in product(("Regular", "Bold"), BLOCKS):
    font = TTFont(Path(sys.argv[1]) / f"LiberationSans-{style}.ttf", recalcTimestamp=False)
    assert "Version 2.1.5" in font["name"].getDebugName(5)
    options = Options(hinting=False, layout_features=["kern", "mark", "mkmk", "ccmp"])
    options.drop_tables += ["FFTM"]
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[c for a, b in BLOCKS[kind] for c in range(a, b + 1)])
    subsetter.subset(font)
    for record in font["name"].names:
        text = record.toUnicode().replace("Liberation Sans", NAME)
        record.string = text.replace("LiberationSans", NAME.replace(" ", ""))
        if record.nameID == 0:
            record.string = f"{record.string} Liberation Sans, cut and renamed {NAME}."
    font.flavor = kind if kind == "woff2" else None
    font.save(OUT / f"FSLBenchSans-{style}.{kind}")
