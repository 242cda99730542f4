"""What a student's tree holds, out of a commit of the instructors' repository.

Nothing is taken by leaving something out: each file is there because a rule here names it, so that
a file that nobody thought of stays with the instructors.
"""

import ast
import re
import tomllib
from collections.abc import Sequence

from grader.course.publishing.beside.assistants import NAMES, assistant_files
from grader.course.publishing.beside.editors import EDITORS, editor_files
from grader.course.publishing.beside.handing import NO_TERMS, Terms
from grader.course.publishing.beside.makefile import TARGET, makefile_of
from grader.course.publishing.beside.readme import readmes
from grader.course.publishing.beside.workflows import WORKFLOWS, workflow_files
from grader.course.publishing.hidden import Files, is_hidden
from grader.errors import UsageError
from grader.labs.documents.untouched import digest
from grader.labs.lab import QUESTIONS, Lab
from grader.labs.published import FILE, OWN, Published
from grader.labs.translations.published import translated_files
from grader.languages.language import Language, speaking
from grader.text import visible_line

# Written here, and no files of the instructors'.
GENERATED = ("README.md", "README.zh.md", "README.en.md", FILE, *NAMES, *EDITORS, *WORKFLOWS)
TOP = ("LICENSE", "constraints.txt", "pyproject.toml", ".gitignore")
TARGETS = (
    *("help", "setup", "grade", "hint", "watch", "notebook", "python", "submit", "status"),
    *("login", "attempts", "questions"),
    *("repeat", "trace", "compile", "bench", "doctor", "clean", "need-lab"),
)
NOTEBOOKS = "docs/notebooks.md"
EXPLORER = "labs/conftest.py"  # public tests in plain pytest; the instructors may have none
KERNEL_PAGES = tuple(
    f"docs/{name}.md"
    for name in ("triton", "triton-interpreter", "sanitizer", "trace", "compile", "roofline")
)
CATALOGUE = ".po"  # what the judge and public tests say in Chinese
KEPT = ("grader/course/", "grader/service/", "grader/site/")  # of the judge, what instructors run
PICTURES = "docs/pictures/"
PLOTS = "labs/plots/"
SPEED = "labs/speed/"
CHAT = "chat"  # a program of labs/ for the whole course; handouts may name others
_NAMED = re.compile(r"\b(?:make |python -m labs\.)([a-z_]+)")


def student_tree(
    files: Files,
    labs: Sequence[Lab],
    title: str,
    held: frozenset[str] = frozenset(),
    terms: Terms = NO_TERMS,
    branch: str = "",
    language: Language = Language.ENGLISH,
) -> dict[str, bytes]:
    """Choose the files of a student's tree, on a branch, from those of a commit, for some labs.

    Handouts, prompts and stubs are in the language, as far as they are translated.

    Given code that is ``held`` is left out, and so are the programs that need it. A file that is
    needed and missing raises ``UsageError``. Without a lab it says so, and holds nothing else.
    """
    texts = {lab.name: _given_out(files, lab) for lab in labs if lab.is_manual}
    own_words = Published(branch, terms.branch or OWN, texts).text().encode()
    if not labs:
        told = f"# {visible_line(title)}\n\nNo lab is published here at present.\n".encode()
        return {"README.md": told, "LICENSE": _file(files, "LICENSE"), FILE: own_words}
    given = {name for lab in labs for name in lab.given} - held
    wanted = [path for lab in labs for path in _lab_files(files, lab)]
    own = tuple(f"labs/{lab.name}/pictures/" for lab in labs)
    wanted += [path for path in files if path.startswith(own) and path.endswith(".svg")]
    programs = _programs(files, labs, given)
    plots = _plots(files, labs)
    modules = {f"labs/{name}.py" for name in given.union(*programs.values())}
    modules |= {path for file in plots for path in _modules(files, files[file])}
    modules |= {*plots, *_speed(files, labs)}
    wanted += sorted(modules)
    wanted += [path for path in files if _is_read(path, [files.get(m, b"") for m in modules])]
    models = {name for lab in labs for name in lab.checkpoints}
    models |= {name for module in programs for name in _models(files[f"labs/{module}.py"])}
    models |= {name for file in plots for name in _models(files[file])}
    if any("triton" in lab.imports for lab in labs):
        wanted += [path for path in files if path in KERNEL_PAGES or _is_picture(path)]
    for name in sorted(models):
        wanted += _below(files, f"labs/checkpoints/{name}/")
    wanted += [path for path in ("labs/checkpoints/.gitattributes",) if path in files]
    wanted += [path for path in files if _is_judge(path) or path in (NOTEBOOKS, EXPLORER)]
    tree = {path: _file(files, path) for path in [*wanted, *TOP]}
    for lab in labs:
        tree |= translated_files(files, lab, chinese=language is Language.CHINESE)
    makefile = _file(files, "Makefile").decode()
    targets = (*TARGETS, *sorted({*programs} & {*TARGET.findall(makefile)}))
    with speaking(language):
        tree["Makefile"] = makefile_of(makefile, targets).encode()
    tree |= readmes(tree, labs, title, programs, terms, language)
    tree[FILE] = own_words
    tree |= assistant_files(terms.assistants, labs) | editor_files(labs, title)
    tree |= workflow_files(terms.workflows, labs, branch)
    return dict(sorted(tree.items()))


def _given_out(files: Files, lab: Lab) -> dict[str, str]:
    """Return what tells the files of a manual lab as they are, which students overwrite."""
    return {name: digest(_file(files, f"labs/{lab.name}/{name}")) for name in lab.files}


def _file(files: Files, path: str) -> bytes:
    if path not in files:
        raise UsageError(f"{path} is not in the commit that is published", "git add it and commit")
    return files[path]


def _lab_files(files: Files, lab: Lab) -> list[str]:
    own = [lab.handout, lab.folder / "lab.toml", *(lab.folder / name for name in lab.given_out)]
    paths = [str(path.relative_to(lab.root)) for path in own]
    asked = str((lab.folder / QUESTIONS).relative_to(lab.root))
    paths += [asked] if asked in files else []
    tests = str(lab.public_suite.relative_to(lab.root))
    return [*paths, *([] if lab.is_manual and tests not in files else [tests])]


def _plots(files: Files, labs: Sequence[Lab]) -> list[str]:
    """Return the files that draw the pictures of some labs, and what those share."""
    own = [path for lab in labs if (path := f"{PLOTS}{lab.code_name}") in files]
    shared = {path for file in own for path in _modules(files, files[file])}
    return [*own, *sorted(path for path in shared if path.startswith(PLOTS))]


def _speed(files: Files, labs: Sequence[Lab]) -> list[str]:
    """Return what some labs time on a GPU, sizes and baseline; not every lab has them."""
    names = (f"{SPEED}{start}{lab.code_name}" for lab in labs for start in ("", "baseline_"))
    own = [path for path in names if path in files]
    return [f"{SPEED}__init__.py", *own] if own else []


def _modules(files: Files, content: bytes) -> set[str]:
    """Return the files of labs/ that a file imports, packages above them included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labs."):
            stem = (node.module or "").replace(".", "/")
            found |= {f"{stem}.py", f"{stem}/__init__.py", f"{stem.rpartition('/')[0]}/__init__.py"}
    return {path for path in found if path in files}


def _below(files: Files, folder: str) -> list[str]:
    found = [path for path in files if path.startswith(folder)]
    if not found:
        raise UsageError(f"{folder} is not in the commit that is published", "git add it")
    return found


def _models(content: bytes) -> list[str]:
    """Return the checkpoints that a program needs: the names in its CHECKPOINTS, a tuple."""
    for node in ast.parse(content).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            if ast.unparse(node.targets[0]) == "CHECKPOINTS":
                return list(ast.literal_eval(node.value))
    return []


def _is_picture(path: str) -> bool:
    return path.startswith(PICTURES) and path.endswith(".svg")


def _is_judge(path: str) -> bool:
    """True for a file of the judge that is neither a suite nor for instructors."""
    ours = path.startswith(("grader/", "bench/")) and path.endswith((".py", CATALOGUE))
    return ours and not is_hidden(path) and not path.startswith(KEPT)


def _programs(files: Files, labs: Sequence[Lab], given: set[str]) -> dict[str, set[str]]:
    """Return the programs that students can run, each with all modules of labs/ that it needs."""
    texts = [_file(files, str(lab.handout.relative_to(lab.root))) for lab in labs]
    handouts = [text.decode("utf-8", "replace") for text in texts]
    named = {CHAT, *(name for text in handouts for name in _NAMED.findall(text))}
    found = {name: _program(files, name, given) for name in named if f"labs/{name}.py" in files}
    return {name: modules for name, modules in found.items() if modules}


def _is_read(path: str, sources: Sequence[bytes]) -> bool:
    """True for a file beside the checkpoints that a module names, or its licence."""
    folder, _, name = path.replace(".LICENSE.", ".").rpartition("/")
    return folder == "labs/checkpoints" and any(name.encode() in source for source in sources)


def _program(files: Files, name: str, given: set[str]) -> set[str]:
    """Return the modules of labs/ that a program needs, none of them if one is not for students.

    A module that some lab gives is not for students until they get that lab.
    """
    every = {path.split("/")[1].removesuffix(".py") for path in files if _is_module(path)}
    kept = {item for lab in _given_lists(files) for item in lab} - given
    found: set[str] = set()
    left = {name}
    while left:
        module = left.pop()
        if module in kept or module not in every:
            return set()
        found.add(module)
        left |= _imported(files[f"labs/{module}.py"]) - found
    return found


def _is_module(path: str) -> bool:
    return path.startswith("labs/") and path.endswith(".py") and path.count("/") == 1


def _given_lists(files: Files) -> list[list[str]]:
    tables = [
        tomllib.loads(content.decode())
        for path, content in files.items()
        if path.startswith("labs/") and path.endswith("/lab.toml")
    ]
    return [list(map(str, table.get("given", ()))) for table in tables]


def _imported(content: bytes) -> set[str]:
    """Return the modules of labs/ that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.ImportFrom) and node.module == "labs":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labs."):
            found.add((node.module or "").split(".")[1])
    return found
