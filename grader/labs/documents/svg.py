"""A picture as SVG that comes out the same each time: in a handout it is compared with a new one.

Coordinates have one decimal and ids are numbered, since both would hang on the last bits of a
float, which are not the same on every machine; how letters are scaled stays as it is. They are
outlines, so that no font is needed.
"""

import base64
import io
import itertools
import re
from typing import Any
from xml.sax.saxutils import escape

from grader.labs.documents.pictures import Picture

SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "inferlab",
    "svg.fonttype": "path",
    "svg.image_inline": True,
}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_SCALE = re.compile(r"scale\([^)]*\)")
_ID = re.compile(r'(?:\bid="|href="#|url\(#)([^")]+)')
_DRAWN = re.compile(r'(?: d| x| y| width| height| viewBox)="[^"]*"|translate\([^)]*\)')
_DECIMALS = re.compile(r"-?\d+\.\d+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_IMAGE = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)")
_CHANGED = 4  # of 255, the mean over an image's pixels, from which on it is another image


def to_svg(picture: Picture) -> str:
    """Return a picture as the text of an SVG on white, which holds its alternative text too."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context(SETTINGS):
        picture.figure.savefig(file, format="svg", facecolor="white", metadata=NO_METADATA)
    drawn = file.getvalue()
    drawn = drawn[drawn.index("<svg") :]  # without the document type, which names another server
    drawn = _numbered(re.sub(r"\s*<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL))
    drawn = _DRAWN.sub(_rounded, drawn)
    drawn = "\n".join(line.strip() for line in drawn.splitlines())
    end = drawn.index(">")
    title = f"<title>{escape(' '.join(picture.text.split()))}</title>"
    return f'{drawn[:end]} role="img">\n{title}{drawn[end + 1 :]}\n'


def differs(old: str, new: str) -> bool:
    """True if two SVGs, or two texts, differ by more than rounding: 2 % of a number, or a unit."""
    images = (_IMAGE.findall(old), _IMAGE.findall(new))
    old, new = _IMAGE.sub("", old), _IMAGE.sub("", new)
    if _NUMBER.sub("0", old) != _NUMBER.sub("0", new) or len(images[0]) != len(images[1]):
        return True
    if _SCALE.findall(old) != _SCALE.findall(new):  # of letters, in small numbers
        return True
    pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    if any(_far(float(a), float(b), "." in a) for a, b in pairs):
        return True
    return any(itertools.starmap(_other_image, zip(*images, strict=True)))


def _far(one: float, other: float, decimal: bool) -> bool:
    least = 0.15 if decimal else 1
    return abs(one - other) > max(least, 0.02 * abs(one))


def _other_image(old: str, new: str) -> bool:
    import numpy
    from PIL import Image

    first, second = (
        numpy.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB"), dtype=float)
        for text in (old, new)
    )
    return first.shape != second.shape or bool(abs(first - second).mean() > _CHANGED)


def _numbered(drawn: str) -> str:
    """Number the ids in the order in which they come; matplotlib's are digests of coordinates."""
    names = {name: f"i{n}" for n, name in enumerate(dict.fromkeys(_ID.findall(drawn)))}
    return _ID.sub(lambda found: found[0].replace(found[1], names[found[1]]), drawn)


def _rounded(found: re.Match[str]) -> str:
    return _DECIMALS.sub(lambda number: f"{float(number[0]):.1f}", found[0])
