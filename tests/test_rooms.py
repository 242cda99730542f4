"""Who may import whom among the packages of the judge: one table, and no cycles.

Imports inside functions and for types count too: they would hide a cycle, not mend it. No import
check sees a module that a string names, so each of those must be there.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins.import_graph import (
    ROOT,
    cycles,
    graph,
    imports,
    merged,
    module_of,
    packages,
    python_files,
)

from grader.course.publishing.hidden import INSTRUCTORS
from grader.course.publishing.new import PLACES
from grader.course.publishing.tree import EXPLORER
from grader.extras import OURS
from grader.sandbox.stage import PACKAGES

# "words" are the modules that lie flat, "suite" is the door of the suites.
MAY_IMPORT = {
    "words": "",
    "wire": "",
    "worker": "wire",
    "labs": "words",
    "reading": "words labs",
    "sandbox": "words wire labs",
    "proxy": "words wire labs sandbox",
    "timing": "words wire labs sandbox proxy",
    "judge": "words labs reading sandbox proxy timing",
    "report": "words labs",
    "suite": "words proxy timing judge",
    "trace": "words report",
    "prove": "words wire worker labs reading sandbox proxy judge",
    "bench": "words wire worker labs sandbox proxy judge report",
    "notebook": "words labs report judge",
    "cli": "words labs judge report prove bench notebook trace",
    "course": "words labs",
    "publishing": "words labs reading prove course",
    "database": "words",
    "grading": "words labs sandbox judge report course database",
    "gradebook": "words labs report course database",
    "commands": "words labs sandbox judge report prove course publishing database grading"
    " gradebook",
}
FLAT = {"grader.suite": "suite", "grader.__main__": "cli"}
READERS = {
    *(f"grader.reading.{n}" for n in ("syntax", "uses", "cursor", "scopes", "targets", "unrun")),
    *(f"grader.reading.{n}" for n in ("answers", "given", "pasted", "steps")),
    *("grader.confined", "grader.labs.cells", "grader.labs.mishaps"),
}
SERVING = frozenset(
    {"channel", "codec", "storage", "objects", "faults", "landmarks"}
)  # in any worker


def room(module: str) -> str:
    """The row of a module: the innermost folder that has one."""
    if module in FLAT:
        return FLAT[module]
    folders = module.split(".")
    if not ROOT.joinpath(*folders).is_dir():
        folders.pop()
    return next((name for name in reversed(folders) if name in MAY_IMPORT), "words")


GRAPH = {name: below for name, below in graph("grader", "bench").items() if ".suites" not in name}
ROOMS = {name: room(name) for name in GRAPH}


@pytest.mark.parametrize("name", sorted(GRAPH))
def test_a_module_imports_what_its_room_may(name: str) -> None:
    may = {ROOMS[name], *MAY_IMPORT[ROOMS[name]].split()}

    assert {other for other in GRAPH[name] if ROOMS[other] not in may} == set()


def test_each_room_is_there() -> None:
    assert {*ROOMS.values()} == MAY_IMPORT.keys()


def test_neither_modules_nor_packages_import_themselves_by_way_of_others() -> None:
    assert cycles(GRAPH) == []
    assert cycles(merged(GRAPH, packages(GRAPH))) == []
    assert cycles(merged(GRAPH, ROOMS)) == []


def test_suites_alone_use_their_door() -> None:
    assert [name for name, below in GRAPH.items() if "grader.suite" in below] == []
    explorer = ROOT / EXPLORER
    files = [*python_files("grader/suites"), *{*python_files("labs")} - {explorer}]
    used = {name for file in files for name in imports(file) if name.startswith("grader.")}
    assert {name.rpartition(".")[0] for name in used} == {"grader.suite"}


@pytest.mark.parametrize("name", sorted(READERS))
def test_the_reader_of_submissions_needs_the_standard_library_only(name: str) -> None:
    assert GRAPH[name] <= READERS


@pytest.mark.parametrize(
    ("name", "brings"),
    [
        ("worker.boot", {"serve", "channel", "compiler", "interpreter", "rank", "threads"}),
        ("worker.compiler", {"assembly"}),
        ("worker.assembly", set()),
        ("worker.recorder", set()),
        ("worker.meter", {"addresses", "passed", "recorder", "work"}),
        ("worker.work", set()),
        ("worker.tuned", {"meter"}),
        ("worker.nursery", {"boot", "landmarks", "walls"}),
        ("worker.threads", set()),
        ("worker.walls", set()),
        (
            "worker.serve",
            {*SERVING, "probes", "harness", "ring", "memory", "tuned", "kernels", "control"}
            | {"sparse", "ways", "device"},
        ),
        ("worker.rank", {"collectives", "faults", "channel", "serve", "threads"}),
        ("worker.collectives", {"counters", "channel"}),
        ("worker.harness", {"ring", "memory"}),
        ("worker.faults", set()),
        (
            "worker.probes",
            {"box", "counters", "decoys", "delegation", "grids", "guard", "sanitizer"}
            | {"meter", "recorder", "sender", "taped"},
        ),
        ("worker.decoys", {"box", "counters", "digging", "followed", "places", "shadow", "swaps"}),
        ("worker.swaps", {"box", "places"}),
        (
            "worker.sender",
            {"admitted", "channel", "codec", "link", "counters", "followed", "launch_sites"}
            | {"places"},
        ),
        ("worker.launch_sites", {"channel", "codec", "kernel_names", "kernel_syntax", "places"}),
        ("worker.places", {"channel", "codec", "storage"}),
        (
            "worker.device",
            {"channel", "codec", "link", "counters", "device_kernels", "device_memory", "followed"}
            | {"admitted", "device_graphs", "places"},
        ),
        ("worker.device_graphs", {"channel", "places"}),
        ("worker.admitted", set()),
        ("worker.taped", {"places", "sender"}),
        ("worker.device_memory", {"channel", "codec", "storage"}),
        (
            "worker.device_kernels",
            {"channel", "codec", "device_memory", "findings", "kernel_names", "lifted", "lines"},
        ),
        ("worker.elsewhere", {"link", "device"}),
        ("worker.lifted", {"kernel_names", "kernel_syntax"}),
        ("worker.kernel_names", set()),
        ("worker.kernel_syntax", set()),
        ("worker.box", {"digging"}),
        ("worker.digging", set()),
        ("worker.races", {"findings", "order", "passed"}),
        ("worker.order", set()),
        ("worker.passed", set()),
        ("worker.shadow", {"storage"}),
        ("worker.guard", {"counters", "delegation"}),
        ("worker.delegation", set()),
        ("worker.counters", {"channel"}),
        ("worker.interpreter", {"bf16", "grids", "operations"}),
        ("worker.grids", {"findings", "lines"}),
        ("worker.sparse", set()),
        ("worker.ways", {"storage"}),
        ("worker.operations", set()),
        ("worker.bf16", set()),
        ("wire.link", {"channel"}),
        ("wire.ring", set()),
        ("wire.memory", set()),
        ("wire.channel", set()),
        ("wire.codec", {"channel", "storage"}),
        ("wire.storage", set()),
        ("wire.objects", set()),
        ("wire.landmarks", set()),
        ("worker.landmarks", {"landmarks"}),
    ],
)
def test_the_worker_brings_little_of_ours(name: str, brings: set[str]) -> None:
    assert {other.rpartition(".")[2] for other in GRAPH[f"grader.{name}"]} <= brings


# What strings name


def texts() -> Iterator[Path]:
    """Every file of ours that may name a module or a file of the judge."""
    yield from (ROOT / name for name in ("Makefile", "pyproject.toml", "README.md"))
    yield from (ROOT / "CONTRIBUTING.md", ROOT / ".ci" / "run", *sorted(ROOT.glob("docs/*.md")))
    yield from (file for file in python_files("grader", "bench") if "suites" not in file.parts)


def is_there(name: str) -> bool:
    """True for a module, or something that one speaks of."""
    if name == "grader.suites" or name in GRAPH or name.endswith(".py"):
        return True
    module, _, last = name.rpartition(".")
    place = ROOT.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return file.is_file() and re.search(rf"\b{last}\b", file.read_text("utf-8")) is not None


@pytest.mark.parametrize("file", list(texts()), ids=lambda file: str(file.relative_to(ROOT)))
def test_what_a_text_names_is_there(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace(r"\.", ".")
    modules = {*re.findall(r"\b(?:grader|bench)(?:\.[A-Za-z_]\w*)+(?![\w/{])", text)}
    modules |= {
        ".".join(match) for match in re.findall(r"from ((?:grader|bench)[\w.]*) import (\w+)", text)
    }
    paths = re.findall(r"\b(?:grader|bench|tests)/[a-z_0-9/]+(?:\.[a-z]+)?(?![\w*{$-])", text)

    assert [name for name in sorted(modules) if not is_there(name)] == []
    assert [path for path in paths if "NN" not in path and not (ROOT / path).exists()] == []


def test_folders_that_tables_name_are_there() -> None:
    for name in PACKAGES:
        assert (ROOT / "grader" / name / "__init__.py").is_file()
    for folder in (*INSTRUCTORS, *OURS, *(place.partition("/")[0] for place in PLACES.values())):
        assert (ROOT / folder).is_dir()
    assert module_of(ROOT / "grader" / "cli" / "app.py") == "grader.cli.app"
