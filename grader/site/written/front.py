"""The first page: its words stand in ``front.md`` beside this file, its numbers in the tree."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path
from string import Template

from grader.labs.lab import Lab
from grader.languages.language import Language, say, speaking
from grader.site.sources.repository import Repository
from grader.site.sources.tables import rows_of, table
from grader.site.written.cards import MUTANTS, MUTANTS_HEAD, Proof, proof_of
from grader.text import number

WORDS = {"en": Path(__file__).with_name("front.md"), "zh": Path(__file__).with_name("front.zh.md")}
HEADS = {"en": ("lab", "what it is about", "points"), "zh": ("实验", "内容", "分")}


def front_page(language: str, labs: Sequence[Lab], repository: Repository) -> str:
    """Fill the words of a language with what is counted; a count nobody needs is an error."""
    words = Template(WORDS[language].read_text("utf-8"))
    return words.substitute(counts(labs, repository), labs=_labs(language, labs))


def counts(labs: Sequence[Lab], repository: Repository) -> dict[str, str]:
    """Count what proves the judge and its suites, by files and by the tables of documents."""
    proof = reduce(add, map(proof_of, labs), Proof(0, 0, 0))
    exploits = [path for path in repository.files if path.startswith("tests/exploits/")]
    mutants = [*rows_of(repository.text(MUTANTS), MUTANTS_HEAD)]
    contracts = sum(len(task.contracts) for lab in labs for task in lab.tasks)
    found = {
        "number": len(labs),
        "wrong": proof.wrong,
        "variants": proof.variants,
        "field": proof.field,
        "exploits": sum(path.endswith(".py") for path in exploits),
        "mutants": sum(int(row[1]) for row in mutants),
        "left": sum(int(row[4]) for row in mutants),
        "mutant_labs": len(mutants),
        "contracts": contracts,
    }
    return {name: f"{count:,}" for name, count in found.items()}


def _labs(language: str, labs: Sequence[Lab]) -> str:
    with speaking(Language(language)):
        rows = [
            (
                f"[{lab.number:02d} · {say(lab.title)}](labs/{lab.name}/index.md)",
                say(lab.summary),
                number(sum(task.points for task in lab.tasks)),
            )
            for lab in labs
        ]
    return table(HEADS[language], rows)
