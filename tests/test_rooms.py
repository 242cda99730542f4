"""Who may import whom among the packages of the judge: one table, and no cycles.

Imports inside functions and for types count too: they would hide a cycle, not mend it. No import
check sees a module that a string names, so each of those must be there.
"""

import re
from collections import Counter
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

# "words" are the modules that lie flat, "suite" is the door of the suites. A folder without a row
# belongs to the one around it.
MAY_IMPORT = {
    "words": "",
    "wire": "",
    "worker.code": "",
    "worker.calls": "wire",
    "worker.operators": "wire",
    "worker.hidden": "wire worker.code worker.operators",
    "worker.sanitizer": "wire worker.code worker.operators",
    "worker.kernels": "worker.sanitizer",
    "worker.metering": "worker.sanitizer",
    "worker.compiling": "worker.operators",
    "worker.device": "wire worker.code worker.operators worker.sanitizer",
    "worker": "wire worker.calls worker.code worker.compiling worker.device worker.hidden"
    " worker.kernels worker.metering worker.operators worker.sanitizer",
    "worker.scripts": "worker.code worker.kernels worker.metering worker.sanitizer",
    "languages": "words",
    "labs": "words",
    "labs.documents": "words labs labs.translations questions",
    "questions": "words languages labs",
    "labs.translations": "words labs languages questions",
    "reading": "words labs labs.documents",
    "reading.pseudocode": "words labs labs.documents labs.translations",
    "sandbox.confinement": "words",
    "sandbox.tripwire": "wire",
    "sandbox": "words wire labs sandbox.confinement",
    "proxy.loans": "words wire sandbox",
    "proxy.values": "words wire labs proxy.loans",
    "proxy.repeat": "words wire proxy.loans proxy.values",
    "proxy.conversation": "words wire sandbox sandbox.tripwire proxy.loans proxy.repeat"
    " proxy.values",
    "proxy.instruments": "words wire labs sandbox proxy.conversation proxy.loans proxy.values",
    "proxy.ranks": "words wire sandbox proxy.conversation proxy.instruments proxy.loans"
    " proxy.values",
    "proxy": "words wire labs sandbox sandbox.tripwire proxy.conversation proxy.instruments"
    " proxy.loans proxy.ranks proxy.repeat proxy.values",
    "timing": "words wire labs sandbox sandbox.confinement proxy proxy.conversation proxy.values",
    "judge.setup": "words labs labs.documents sandbox",
    "judge.observers": "words labs sandbox judge.setup proxy proxy.instruments proxy.repeat",
    "judge.plugin": "words labs reading sandbox sandbox.confinement judge.setup proxy"
    " proxy.conversation proxy.instruments proxy.loans proxy.values timing",
    "judge": "words labs labs.documents questions reading reading.pseudocode sandbox"
    " sandbox.confinement"
    " judge.observers judge.plugin judge.setup proxy timing",
    "report": "words",
    "report.facts": "words languages labs labs.documents",
    "report.markup": "words languages labs report.facts",
    "report.launches": "words labs report.facts report.markup",
    "report.formats": "words languages labs report.facts report.markup",
    "suite": "words judge.plugin proxy proxy.instruments proxy.ranks proxy.values timing",
    "trace": "words report.markup",
    "prove.answers": "words labs reading",
    "prove.forking": "words labs reading sandbox sandbox.confinement worker judge judge.setup",
    "prove.remembered": "words labs labs.documents sandbox sandbox.confinement judge judge.setup",
    "prove": "words labs labs.documents questions reading reading.pseudocode judge judge.setup"
    " prove.answers prove.forking prove.remembered proxy.values labs.translations languages",
    "prove.mutants": "words labs reading judge.setup prove",
    "bench": "words wire labs course.database sandbox sandbox.confinement worker worker.calls"
    " worker.kernels judge judge.setup proxy proxy.conversation proxy.instruments proxy.loans"
    " proxy.ranks proxy.values"
    " report.facts report.formats report.markup",
    "notebook": "words languages labs labs.documents labs.translations judge report.facts"
    " report.formats report.markup",
    "client": "words",
    "start": "words labs",
    "cli.terminal": "words languages labs report.formats",
    "cli.tables": "words labs prove report.facts",
    "cli.kernels": "words languages labs labs.documents judge judge.observers judge.setup"
    " report.facts report.formats report.launches report.markup trace cli.terminal",
    "cli.repeating": "words languages labs labs.documents judge judge.setup report.facts"
    " report.formats",
    "cli.handing": "words languages labs labs.documents labs.translations questions report.facts"
    " report.formats cli.terminal client",
    "cli": "words languages labs questions judge judge.setup report.facts report.formats prove"
    " prove.mutants prove.remembered bench notebook start cli.kernels cli.repeating cli.tables"
    " cli.terminal",
    "course.rules": "words labs",
    "course": "words languages labs questions course.database course.rules",
    "course.reading": "words labs report.facts course course.database course.rules",
    "course.publishing": "words languages labs labs.documents labs.translations reading start"
    " prove.answers course course.rules",
    "course.database": "words",
    "course.grading": "words labs labs.documents questions sandbox sandbox.confinement judge"
    " judge.setup report.facts course course.database",
    "course.grading.collecting": "words labs labs.documents course course.database",
    "course.grading.backups": "words labs course course.database course.grading"
    " course.grading.collecting",
    "course.likeness": "words labs labs.translations report.markup course course.database",
    "course.gradebook": "words labs report.facts report.markup report.formats course.rules course"
    " course.reading course.database course.likeness course.rosters",
    "course.analysis": "words labs report.facts course.database course.gradebook",
    "service.domain": "words",
    "service.ports": "course.database course.likeness service.domain",
    "service.core": "words labs labs.documents questions report.facts course course.analysis"
    " course.database course.gradebook course.grading course.reading course.rules"
    " service.domain service.ports",
    "service.adapters": "words labs labs.documents course course.database course.grading.collecting"
    " course.likeness service.domain service.ports service.core",
    "service.adapters.database": "words course.reading course.database course.likeness"
    " service.domain service.ports",
    "service.adapters.web.gate": "words course",
    "service.adapters.web.oidc": "words report.facts course",
    "service.adapters.web.texts": "words languages labs labs.documents labs.translations"
    " report.markup report.formats course.reading course.database service.domain service.core"
    " service.core.people",
    "service.adapters.web.shared": "words languages labs course course.database"
    " course.gradebook service.domain service.ports service.core service.adapters.web.gate"
    " service.adapters.web.oidc service.adapters.web.texts service.adapters.web.lti"
    " service.core.people",
    "service.adapters.web.desk": "words languages labs questions course course.reading"
    " course.database course.likeness course.gradebook course.analysis service.domain"
    " service.ports service.core"
    " service.adapters.web.gate service.adapters.web.texts service.adapters.web.shared"
    " service.adapters.web service.adapters.web.lti service.core.people",
    "service.adapters.web": "words languages labs report.facts report.markup course.reading"
    " course.database course.likeness course.gradebook service.domain service.ports service.core"
    " service.adapters.web.gate service.adapters.web.oidc service.adapters.web.texts"
    " service.adapters.web.shared service.adapters.web.desk service.core.people",
    "service.giving": "words languages labs labs.documents report.facts report.formats"
    " report.markup course course.database course.gradebook course.grading course.grading"
    " course.grading.collecting service.core service.domain service.ports",
    "service.commands": "words languages labs sandbox judge prove.answers course course.database"
    " course.grading course.grading.collecting course.gradebook service.domain service.ports"
    " service.core service.adapters service.adapters.database service.adapters.web.oidc"
    " service.adapters.web.shared service.adapters.web.desk service.adapters.web service.giving"
    " course.commands.marks course.commands course.rosters service.adapters.web.lti"
    " service.core.people",
    "service": "words",
    "course.commands.marks": "words labs report.facts report.markup report.formats course.rules"
    " course course.reading course.database course.likeness course.gradebook course.analysis"
    " course.rosters course.persons",
    "course.commands": "words languages labs sandbox judge report.facts report.formats"
    " prove.answers prove.remembered prove course course.publishing course.database course.grading"
    " course.grading.collecting course.grading.backups course.commands.marks course.rosters"
    " course.commands.reading course.hosting course.rules labs.documents labs.translations",
    "course.rosters": "words course.database course.grading.collecting",
    "course.hosting": "words course course.rosters course.rules",
    "course.persons": "words labs course course.database course.grading course.grading.collecting"
    " course.grading.backups course.gradebook course.rosters",
    "service.adapters.web.lti": "words course service.domain service.core service.core.people",
    "service.core.people": "words labs course course.reading course.database course.gradebook"
    " course.analysis service.domain service.ports service.core",
    "course.commands.reading": "words labs course course.reading course.database course.gradebook"
    " course.commands.marks",
    "site.sources": "words course.publishing",
    "site.written": "words languages labs labs.translations cli course site.sources",
    "site.sphinx": "words report.markup site.sources",
    "site": "words languages labs labs.translations site.sources site.written site.sphinx",
}
FLAT = {"grader.suite": "suite", "grader.__main__": "cli"}
MOST_LINES = 300
MOST_MODULES = 13  # in one folder, besides its __init__; suites are one file a lab
READERS = {
    *(f"grader.reading.{n}" for n in ("syntax", "uses", "bindings", "cursor", "scopes")),
    *("grader.reading.targets", "grader.reading.unrun"),
    *(f"grader.reading.pseudocode.{n}" for n in ("answers", "compiled", "given", "pasted")),
    *("grader.reading.pseudocode.steps", "grader.reading.pseudocode.words"),
    *("grader.confined", "grader.labs.documents.cells", "grader.labs.documents.mishaps"),
}
SERVING = frozenset(
    {"channel", "codec", "storage", "objects", "faults", "own_objects"}
)  # in any worker


def room(module: str) -> str:
    """The row of a module: the innermost folder that has one."""
    if module in FLAT:
        return FLAT[module]
    folders = module.split(".")
    if not ROOT.joinpath(*folders).is_dir():
        folders.pop()
    names = folders[1:] if folders[0] == "grader" else folders
    paths = (".".join(names[:end]) for end in range(len(names), 0, -1))
    return next((path for path in paths if path in MAY_IMPORT), "words")


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


def test_no_folder_is_wider_than_a_reader_sees_at_once() -> None:
    files = python_files("grader", "bench", "reference")
    width = Counter(file.parent for file in files if file.name != "__init__.py")
    for one_a_lab in (ROOT / "grader" / "suites", ROOT / "reference"):
        del width[one_a_lab]

    assert {str(path): count for path, count in width.items() if count > MOST_MODULES} == {}


def test_no_module_is_longer_than_a_reader_keeps_in_mind() -> None:
    files = [
        file for file in python_files("grader", "bench", "reference") if "suites" not in file.parts
    ]
    length = {file: len(file.read_bytes().splitlines()) for file in files}

    assert {str(file): lines for file, lines in length.items() if lines > MOST_LINES} == {}


def test_each_room_says_what_it_is_for() -> None:
    folders = {file.parent for file in python_files("grader", "bench", "reference")}
    for folder in folders - {*(ROOT / "grader/course/database/migrations").glob("**")}:
        assert (folder / "__init__.py").read_text("utf-8").startswith('"""'), folder


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
        ("worker.compiling.compiler", {"assembly"}),
        ("worker.compiling.assembly", set()),
        ("worker.metering.launches", set()),
        ("worker.metering.meter", {"addresses", "arguments", "launches", "work"}),
        ("worker.metering.work", set()),
        ("worker.metering.autotuned", {"meter"}),
        ("worker.fork_server", {"boot", "own_objects", "confinement"}),
        ("worker.threads", set()),
        ("worker.confinement", set()),
        (
            "worker.serve",
            {"channel", "faults", "measures", "ways"},
        ),
        (
            "worker.measures",
            {*SERVING, "values", "harness", "ring", "memory", "autotuned", "compiled_files"}
            | {"control", "device"},
        ),
        ("worker.values", {*SERVING, "probes", "sparse"}),
        ("worker.rank", {"collectives", "faults", "channel", "serve", "threads"}),
        ("worker.operators.collectives", {"counters", "channel"}),
        ("worker.calls.harness", {"ring", "memory"}),
        ("worker.code.faults", set()),
        (
            "worker.probes",
            {"box", "counters", "decoys", "delegation", "grids", "guard", "sanitizer"}
            | {"meter", "launches", "sender", "captures"},
        ),
        (
            "worker.hidden.decoys",
            {"box", "counters", "introspection", "followed", "places", "shadow", "swaps"},
        ),
        ("worker.hidden.swaps", {"box", "places"}),
        (
            "worker.hidden.sender",
            {"admitted", "channel", "codec", "link", "counters", "followed", "launch_sites"}
            | {"places"},
        ),
        (
            "worker.hidden.launch_sites",
            {"channel", "codec", "kernel_names", "kernel_syntax", "places"},
        ),
        ("worker.operators.places", {"channel", "codec", "storage"}),
        (
            "worker.device.device",
            {"channel", "codec", "link", "counters", "kernels", "memory", "followed"}
            | {"admitted", "graphs", "places"},
        ),
        ("worker.device.graphs", {"channel", "places"}),
        ("worker.operators.admitted", set()),
        ("worker.hidden.captures", {"places", "sender"}),
        ("worker.device.memory", {"channel", "codec", "storage"}),
        (
            "worker.device.kernels",
            {"channel", "codec", "memory", "findings", "kernel_names", "kernel_text", "lines"},
        ),
        ("worker.device.own_answer", {"link", "device"}),
        ("worker.code.kernel_text", {"kernel_names", "kernel_syntax"}),
        ("worker.code.kernel_names", set()),
        ("worker.code.kernel_syntax", set()),
        ("worker.hidden.box", {"introspection"}),
        ("worker.hidden.introspection", set()),
        ("worker.sanitizer.races", {"findings", "order", "arguments"}),
        ("worker.sanitizer.order", set()),
        ("worker.sanitizer.arguments", set()),
        ("worker.hidden.shadow", {"storage"}),
        ("worker.operators.guard", {"counters", "delegation"}),
        ("worker.operators.delegation", set()),
        ("worker.operators.counters", {"channel"}),
        ("worker.kernels.interpreter", {"bf16", "grids", "operations"}),
        ("worker.sanitizer.grids", {"findings", "lines"}),
        ("worker.calls.sparse", set()),
        ("worker.calls.ways", {"storage"}),
        ("worker.kernels.operations", set()),
        ("worker.kernels.bf16", set()),
        ("wire.link", {"channel"}),
        ("wire.ring", set()),
        ("wire.memory", set()),
        ("wire.channel", {"errors"}),
        ("wire.errors", set()),
        ("wire.codec", {"channel", "storage"}),
        ("wire.storage", set()),
        ("wire.objects", set()),
        ("wire.own_objects", set()),
        ("worker.own_objects", {"own_objects"}),
    ],
)
def test_the_worker_brings_little_of_ours(name: str, brings: set[str]) -> None:
    ours = {other.rpartition(".")[2] for other in GRAPH[f"grader.{name}"]}

    assert ours <= brings | {"errors"}


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
    paths = re.findall(
        r"(?<![\w/.-])(?:grader|bench|tests)/[a-z_0-9/]+(?:\.[a-z]+)?(?![\w*{$-])", text
    )

    assert [name for name in sorted(modules) if not is_there(name)] == []
    assert [path for path in paths if "NN" not in path and not (ROOT / path).exists()] == []


def test_folders_that_tables_name_are_there() -> None:
    for name in PACKAGES:
        assert (ROOT / "grader" / name / "__init__.py").is_file()
    for folder in (*INSTRUCTORS, *OURS, *(place.partition("/")[0] for place in PLACES.values())):
        assert (ROOT / folder).is_dir()
    assert module_of(ROOT / "grader" / "cli" / "app.py") == "grader.cli.app"
