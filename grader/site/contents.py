"""Which pages stand together, and in which order: the contents at the left of each page."""

from collections.abc import Iterable, Sequence

from grader.labs.lab import Lab

COURSE = ("docs/course", "docs/service", "reference/course-toml", "docs/trust", "docs/notebooks")
AUTHORS = ("docs/writing-suites", "CONTRIBUTING", "docs/notation", "docs/proof", "docs/field")
COMMANDS = ("reference/lab", "reference/make")
TITLES = {
    "en": ("Students", "Running a course", "Writing labs", "Commands", "How it works"),
    "zh": ("学生", "开设课程", "编写实验", "命令", "内部原理"),
}
# What the title of a page would not tell in the contents.
REPOSITORY = {"en": "The repository", "zh": "仓库"}
HANDOUT = {"en": "Handout", "zh": "讲义"}


def contents(language: str, labs: Sequence[Lab], pages: Iterable[str]) -> str:
    """Write the contents for the first page; of ``pages``, by name, none is left out."""
    left = set(pages)
    handouts = {f"labs/{lab.name}/README" for lab in labs}
    cards = {lab.name: f"labs/{lab.name}/index" for lab in labs}
    # Where a language has no page of a lab its handout stands for it.
    of_labs = [card if card in left else f"labs/{name}/README" for name, card in cards.items()]
    students = ["README", "labs/README", *of_labs]
    named = [students, COURSE, AUTHORS, COMMANDS]
    taken = {page for group in named for page in group} | handouts
    inside = sorted(left - taken - {"index"}, key=lambda page: (page != "docs/README", page))
    groups = [[page for page in group if page in left] for group in (*named, inside)]
    named_otherwise = {"README": f"{REPOSITORY[language]} </README>"}
    groups = [[named_otherwise.get(page, page) for page in group] for group in groups]
    return "".join(
        toctree(title, group)
        for title, group in zip(TITLES[language], groups, strict=True)
        if group
    )


def toctree(title: str, pages: Iterable[str]) -> str:
    """Write contents that are shown at the left alone."""
    lines = "\n".join(page if "<" in page else f"/{page}" for page in pages)
    caption = f":caption: {title}\n" if title else ""
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n{lines}\n```\n"
