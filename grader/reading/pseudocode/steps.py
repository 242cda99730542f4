"""The steps of a pseudocode section: which lines are some, what they mention, in which order.

Whether a step is true is not judged here; that it says anything at all is.
"""

import re
from collections.abc import Iterable, Sequence

from grader.reading.pseudocode.pasted import bare
from grader.reading.pseudocode.words import LETTER, has_han, weigh, words

WORDS = 1.5  # distinct words that a step has on average, beside the names asked for

_ASKS_INVARIANT = re.compile(r"\binvariant(?:\s+to\s+state)?\s*:|不变[式量]\s*:", re.IGNORECASE)
_OPERATOR = re.compile(r"<-|->|=>|[=+*/^<>@≤≥·\u00d7÷√∑Σ\u2212←→]")
_SILENT = frozenset(
    "a an and any are argument arguments as at be been by called do does done following for "
    "from get gets has have he her here i if in input inputs into is it its let list mention "
    "mentioned mentions must name named names need needed needs next of on or our out output "
    "outputs param parameter parameters s scalar she so some step steps tensor tensors "
    "that the their them then there these they this those to todo too uses use used using variable "
    "variables vector vectors very via was we were which with you your".split()
)
_SILENT_HAN = re.compile(
    "首先|其次|然后|接着|接下来|之后|再来|如此|这样|使用|用到|用来|利用|调用|输入|输出|参数|变量"
    "|张量|向量|标量|步骤|名称|提到|写出|说明|需要|必须|应该|进行|得到|有关|关于|这里|这个|那个"
    "|一个|一些|一下|它们|我们|自己|处理"
    "|[的地得了着过是为有在到对从把被将给让用以和与及或且并而也还就再又则这那其它他她我你您个些之]"
    "|[于由步请先做要]"
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
    )\b | [∀≡≤≥] | == | <= | >=
    | 不变 | 不动 | 原样 | 始终 | 总是 | 总有 | 一直 | 永远 | 永不 | 自始至终 | 每 | 各自 | 都 | 皆
    | 所有 | 全部 | 任何 | 任意 | 任一 | 一切 | 凡是 | 只有 | 只能 | 只会 | 仅 | 唯一 | 恰 | 正好
    | 刚好 | [从绝决并]不 | 从未 | 从没 | 没有 | 绝无 | 不会 | 不能 | 不可 | 不得 | 不许 | 互不
    | 不再 | 不依赖 | 不取决 | 必[须定然为是] | 一定 | 保持 | 维持 | 保证 | 保留 | 守恒 | 固定
    | 恒[等为定是有] | 相同 | 相等 | 等于 | 一致 | 一样 | 同样 | 同一 | 至[少多] | 最多 | 最少
    | 不超过 | [不未][大小多少高低]于 | 前后 | [之以]前和[之以]?后 | 无论 | 不论 | 不管 | 加起来
    | [之总]和[是为等] | [\d一二三四五六七八九十]步(?:之[前后]|以后|后)""",
    re.IGNORECASE | re.VERBOSE,
)


def steps(lines: Iterable[str], prompt: str) -> list[str]:
    """Keep the lines of two words at least, each once, that are not out of the prompt.

    Numbers apart, as they do not make another step of one that is there.
    """
    asked = f" {' '.join(words(prompt))} "
    found: dict[str, str] = {}
    for line in lines:
        text = bare(line)
        said = words(text)
        if weigh(said) > 1 and f" {' '.join(said)} " not in asked:
            found.setdefault(" ".join(word for word in said if not word.isdigit()), text)
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
        for word in [*_telling_words(line), *_OPERATOR.findall(line)]
        if not word.isdigit()
        and word not in _SILENT
        and word not in known
        and word.removesuffix("s") not in known
    )


def _telling_words(line: str) -> list[str]:
    """Give the words but letters, and the characters that are not of a Chinese word of filling."""
    return [w for w in words(_SILENT_HAN.sub(" ", line)) if len(w) > 1 or has_han(w)]


def mentions(line: str, name: str) -> bool:
    """True if a line has a name as a whole word, in capitals or not, in LaTeX with an index."""
    pattern = rf"(?<!{LETTER}){re.escape(name)}(?:_[a-z0-9])?(?!{LETTER})"
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
        pattern = re.compile(rf"(?<!{LETTER}){re.escape(word)}(?:e?s)?(?!{LETTER})", re.IGNORECASE)
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
