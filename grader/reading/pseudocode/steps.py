"""The steps of a pseudocode section: which lines are some, what they mention, in which order.

Whether a step is true is not judged here; that it says anything at all is.
"""

import re
from collections.abc import Iterable, Sequence

from grader.reading.pseudocode.pasted import bare, words

WORDS = 1.5  # distinct words that a step has on average, beside the names asked for

_ASKS_INVARIANT = re.compile(r"\binvariant(?:\s+to\s+state)?\s*:", re.IGNORECASE)
_OPERATOR = re.compile(r"<-|->|=>|[=+*/^<>@≤≥·\u00d7÷√∑Σ\u2212←→]")
_SILENT = frozenset(
    "a an and any are argument arguments as at be been by called do does done following for "
    "from get gets has have he her here i if in input inputs into is it its let list mention "
    "mentioned mentions must name named names need needed needs next of on or our out output "
    "outputs param parameter parameters s scalar she so some step steps tensor tensors "
    "that the their them then there these they this those to todo too uses use used using variable "
    "variables vector vectors very via was we were which with you your".split()
)
_HOLDS = re.compile(
    r"""\b(?:invariants? | invariably | always | never | ever | forever | throughout | still
    | constant\w* | every\w* | each | all | both | any\w* | no | none | nobody | nothing
    | neither | cannot | must | same | equal(?:s|ly)? | identical\w* | alike | shared? | shares
    | exactly | precisely | only | unchanged | untouched | unaltered | unaffected | intact | fixed
    | stays? | stayed | remains? | remained | holds? | held
    | preserve[sd]? | conserve[sd]? | guarantee[sd]? | maintain(?:s|ed)?
    | whatever | whichever | whenever | wherever | however | regardless | independent\w*
    | at\s+most | at\s+least | up\s+to | sums?\s+to | adds?\s+up
    | before\s+and\s+after | (?:after|before|between)\s+(?:\w+\s+)?steps?
    )\b | [∀≡≤≥] | == | <= | >=""",
    re.IGNORECASE | re.VERBOSE,
)


def steps(lines: Iterable[str], prompt: str) -> list[str]:
    """Keep the lines of two words at least, each once, that are not out of the prompt."""
    asked = f" {' '.join(words(prompt))} "
    found: dict[str, str] = {}
    for line in lines:
        text = bare(line)
        key = " ".join(words(text))
        if " " in key and f" {key} " not in asked:
            found.setdefault(key, text)
    return list(found.values())


def telling(lines: Iterable[str], names: Sequence[str]) -> list[str]:
    """Keep the lines that say something beside the names: "x and weight" does not.

    One word is enough here, as "multiply with the weight" is a step.
    """
    return [line for line in lines if vocabulary([line], names)]


def vocabulary(lines: Iterable[str], names: Sequence[str]) -> frozenset[str]:
    """Give the words and operators of the lines, beside names asked for, letters and filling."""
    known = {*map(str.lower, names)}
    return frozenset(
        word
        for line in lines
        for word in [*(word for word in words(line) if len(word) > 1), *_OPERATOR.findall(line)]
        if not word.isdigit()
        and word not in _SILENT
        and word not in known
        and word.removesuffix("s") not in known
    )


def mentions(line: str, name: str) -> bool:
    """True if a line has a name as a whole word, in capitals or not, in LaTeX with an index."""
    pattern = rf"(?<!\w){re.escape(name)}(?:_[a-z0-9])?(?!\w)"
    return re.search(pattern, line.replace("\\_", "_"), re.IGNORECASE) is not None


def asks_invariant(prompt: str) -> bool:
    """True if a prompt has an invariant stated."""
    return _ASKS_INVARIANT.search(prompt) is not None


def states_invariant(lines: Iterable[str]) -> bool:
    """True if a line has a word of what holds throughout; generous, as there are many."""
    return any(_HOLDS.search(line) for line in lines)


def out_of_order(lines: Sequence[str], order: Sequence[str]) -> str:
    """Quote two steps that stand in the wrong order, "" if none do.

    What counts is the first step that mentions a word, or its plural in s or es. A word that no
    step mentions has no place, and two in one step are in order.
    """
    last, last_word = -1, ""
    for word in order:
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?:e?s)?(?!\w)", re.IGNORECASE)
        at = next((place for place, line in enumerate(lines) if pattern.search(line)), None)
        if at is None:
            continue
        if at < last:
            return (
                f"{last_word} comes before {word}, but your first steps about them are "
                f"{_quote(lines[last])} and, before it, {_quote(lines[at])}"
            )
        last, last_word = at, word
    return ""


def _quote(line: str) -> str:
    return f'"{line if len(line) <= 80 else line[:79] + "…"}"'
