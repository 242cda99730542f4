"""A lab that asks: questions of each kind, right answers, and answers that students type."""

from pathlib import Path

from grader.labs.lab import Lab, load_lab

ENGLISH = """
[[questions]]
id = "min_p_leaves"
kind = "number"
asks = "The best token has probability {best}, min_p is {p}. How many stay at most, it included?"
unit = "tokens"
tolerance = 0
[questions.draws]
best = [0.8, 0.9, 0.95]
p = [0.05, 0.1]

[[questions]]
id = "commutes"
kind = "choice"
asks = "Which filter commutes with temperature?"
options = ["top_k", "top_p", "min_p", "none of them"]

[[questions]]
id = "see_probabilities"
kind = "choices"
asks = "Which look at probabilities?"
options = ["top_k", "top_p", "min_p", "a repetition penalty"]

[[questions]]
id = "usual_order"
kind = "order"
asks = "In which order does a step go?"
options = ["penalties", "temperature", "top_p", "the draw"]

[[questions]]
id = "logits_shape"
kind = "shape"
asks = "The shape of the logits of {rows} rows of {tokens} tokens, vocabulary 512?"
[questions.draws]
rows = { from = 2, to = 5 }
tokens = [7, 11]

[[questions]]
id = "beam_scores"
kind = "formula"
names = ["beams", "vocabulary", "rows"]
asks = "How many scores does a step rank, by beams, vocabulary, rows?"

[[questions]]
id = "kept"
kind = "program"
signature = "kept(probabilities, p)"
asks = "How many tokens does min_p keep?"
"""
CHINESE = (
    ENGLISH.replace("Which filter commutes with temperature?", "哪种过滤与温度可交换？")
    .replace("none of them", "都不可交换")
    .replace('unit = "tokens"', 'unit = "个"')
)
ANSWERS = '''"""Right answers, and wrong ones that each must fail."""


def min_p_leaves(best: float, p: float) -> int:
    """Each token that stays has p * best or more, and the others share 1 - best."""
    count = 1
    while round(count * p * best, 9) <= round(1 - best, 9):
        count += 1
    return count


def commutes() -> str:
    """Dividing by a temperature keeps the ranking."""
    return "top_k"


def see_probabilities() -> set[str]:
    """Both compare a probability."""
    return {"top_p", "min_p"}


def usual_order() -> list[str]:
    """Penalties must see the sign of the logits."""
    return ["penalties", "temperature", "top_p", "the draw"]


def logits_shape(rows: int, tokens: int) -> tuple[int, ...]:
    """One row of scores for each token."""
    return rows, tokens, 512


def beam_scores(beams: int, vocabulary: int, rows: int) -> int:
    """Each beam of each row goes on with each token."""
    return sum(vocabulary for _ in range(beams * rows))


def kept(probabilities: list[float], p: float) -> int:
    """The bar is p of the best."""
    return sum(each >= p * max(probabilities) for each in probabilities)


RIGHT = {
    "commutes": ["`top_k`"],
    "beam_scores": ["rows * beams * vocabulary", "beams*vocabulary**1*(rows + 0)"],
    "kept": [
        "def kept(probabilities, p):\\n    bar = p * max(probabilities)\\n"
        "    return len([x for x in probabilities if x >= bar])",
        "def kept(probabilities, p):\\n    n = 0\\n    for x in probabilities:\\n"
        "        if x >= p * max(probabilities):\\n            n += 1\\n    return n",
    ],
}
WRONG = {
    "min_p_leaves": [lambda best, p: int(1 / p) + 1, "1000"],
    "commutes": ["top_p", "none of them"],
    "see_probabilities": [{"top_p"}, {"top_k", "top_p", "min_p"}],
    "usual_order": [["temperature", "penalties", "top_p", "the draw"]],
    "logits_shape": [lambda rows, tokens: (rows, 512, tokens), "(512,)"],
    "beam_scores": ["beams * vocabulary", "beams + vocabulary + rows"],
    "kept": ["def kept(probabilities, p):\\n    return sum([x >= p for x in probabilities])"],
}
CASES = {"kept": [([0.5, 0.3, 0.2], 0.5), ([1.0], 0.9), ([0.3, 0.3, 0.2, 0.2], 0.7)]}
'''
PROGRAM = """def kept(probabilities, p):
    bar = p * max(probabilities)
    return sum([x >= bar for x in probabilities])"""


def ask(lab: Lab) -> Lab:
    """Give a lab, which is a copy, questions with their answers; returns it anew."""
    (lab.folder / "questions.toml").write_text(ENGLISH, encoding="utf-8")
    (lab.folder / "questions.zh.toml").write_text(CHINESE, encoding="utf-8")
    lab.solutions.mkdir(parents=True, exist_ok=True)
    (lab.solutions / "questions.py").write_text(ANSWERS, encoding="utf-8")
    return load_lab(lab.folder)


def asking_lab(root: Path, copied: Lab) -> Lab:
    """Lay out a lab under another root that has the settings of a copied one and asks."""
    folder = root / "labs" / copied.name
    folder.mkdir(parents=True)
    (folder / "lab.toml").write_bytes((copied.folder / "lab.toml").read_bytes())
    return ask(load_lab(folder))
