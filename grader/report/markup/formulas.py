"""Formulas, TeX between dollars, as MathML: browsers draw it themselves, without a script."""

from grader.extras import needs

with needs("service"):
    from latex2mathml.converter import convert


def formula(tex: str, display: str = "inline") -> str:
    """Return a formula as MathML; ``display`` is ``inline`` or ``block``."""
    # The converter passes on what stands in a \\text as it is.
    plain = tex.replace("<", r"\lt ").replace(">", r"\gt ")
    return convert(plain, display=display)


def formula_alone(tex: str) -> str:
    """Return a formula that stands alone; what TeX sets side by side may be one below the other."""
    return "".join(formula(part.strip(), "block") for part in tex.split(r"\qquad"))
