"""Who may import whom among the rooms of the judge: one table, and no cycles.

Imports inside functions and for types count too: they would hide a cycle, not mend it.
"""

import pytest
from import_graph import cycles, graph, imports, merged, packages, python_files

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
    "prove": "words wire worker labs reading sandbox judge",
    "bench": "words wire worker labs sandbox proxy judge report",
    "cli": "words labs judge report prove bench",
    "course": "words labs",
    "publishing": "words labs reading prove course",
    "database": "words",
    "grading": "words labs sandbox judge report course database",
    "gradebook": "words labs report course database",
    "commands": "words labs sandbox judge report prove course publishing database grading"
    " gradebook",
}
# Where modules belong that lie in no folder of their own.
ROOMS = {
    "words": "errors text extras files",
    "wire": "wire codec storage objects ring shared",
    "worker": "boot worker faults rank collectives probes counters guard delegation interpreter"
    " bf16 harness",
    "labs": "lab table tiers submission results history",
    "reading": "rules static syntax uses cursor scopes pseudocode",
    "sandbox": "sandbox confine seccomp limits pool printed orphans stage gpu",
    "proxy": "student conversation lent instruments raising readings group spawn ranks stranded"
    " compare",
    "timing": "stopwatch race timing projection interval roofline speed silence",
    "judge": "grade scoring provenance session sessions plugin gates verdicts draw recorder",
    "report": "report report_terminal report_html report_markdown report_junit report_gradescope"
    " report_speed report_plot web report_style summary notices measured plots guide",
    "suite": "suite",
    "prove": "check check_code check_files check_reports controls findings trials sample forked"
    " nursery edits diffs",
    "bench": "bench direct page bench_kernels bench_collectives kernels network",
    "cli": "__main__ cli cli_bench commands doctor watch progress",
    "course": "course.config course.git",
    "publishing": "course.new course.publish course.selection course.tree course.press"
    " course.remote course.repository course.hidden course.shapes course.leak course.held",
    "database": "course.records course.tables course.databases course.store course.spool"
    " course.dump course.migrations",
    "grading": "course.roster course.fetch course.collect course.jobs course.leases"
    " course.engines course.cluster course.batch course.answer course.branch course.ledger"
    " course.backup",
    "gradebook": "course.marks course.gradebook course.overview course.reports course.exports"
    " course.charts course.class_page course.pages course.files course.similarity",
    "commands": "cli_author course.author cli_class course.class_commands course.class_progress"
    " cli_gradebook course.gradebook_commands course.similarity_commands"
    " course.backup_commands",
}
PLACES = {f"grader.{name}": room for room, names in ROOMS.items() for name in names.split()}
READERS = frozenset({"syntax", "uses", "cursor", "scopes"})  # run without site-packages


def room(name: str) -> str:
    """The room of a module: said above, or by the innermost folder that has a row."""
    above = name
    while above:
        if above in PLACES:
            return PLACES[above]
        if (last := above.rpartition(".")[2]) in MAY_IMPORT and above != name:
            return last
        above = above.rpartition(".")[0]
    return name.rpartition(".")[2] if "." in name else "words"


GRAPH = {name: below for name, below in graph("grader", "bench").items() if ".suites" not in name}


@pytest.mark.parametrize("name", sorted(GRAPH))
def test_a_module_imports_what_its_room_may(name: str) -> None:
    ours = room(name)
    may = {ours, *MAY_IMPORT[ours].split()}

    assert {other for other in GRAPH[name] if room(other) not in may} == set()


def test_neither_modules_nor_packages_import_themselves_by_way_of_others() -> None:
    assert cycles(GRAPH) == []
    assert cycles(merged(GRAPH, packages(GRAPH))) == []
    assert cycles(merged(GRAPH, {name: room(name) for name in GRAPH})) == []


def test_suites_alone_use_their_door() -> None:
    assert [name for name, below in GRAPH.items() if "grader.suite" in below] == []
    files = [*python_files("grader/suites"), *python_files("labs")]
    used = {name for file in files for name in imports(file) if name.startswith("grader.")}
    assert {name.rpartition(".")[0] for name in used} == {"grader.suite"}


def test_the_reader_of_submissions_needs_the_standard_library_only() -> None:
    readers = {name for name in GRAPH if name.rpartition(".")[2] in READERS}

    assert len(readers) == len(READERS)
    for name in readers:
        assert GRAPH[name] <= readers


SERVING = frozenset({"wire", "codec", "storage", "objects", "faults"})  # in any worker


@pytest.mark.parametrize(
    ("name", "brings"),
    [
        ("boot", {"worker", "wire", "interpreter", "rank"}),
        ("worker", {*SERVING, "probes", "harness", "ring", "shared"}),
        ("rank", {"collectives", "faults", "wire", "worker"}),
        ("collectives", {"counters", "wire"}),
        ("harness", {"ring", "shared"}),
        ("ring", set()),
        ("shared", set()),
        ("wire", set()),
        ("codec", {"wire", "storage"}),
        ("storage", set()),
        ("objects", set()),
        ("faults", set()),
        ("probes", {"counters", "delegation", "guard"}),
        ("guard", {"counters", "delegation"}),
        ("delegation", set()),
        ("counters", {"wire"}),
        ("interpreter", {"bf16"}),
        ("bf16", set()),
    ],
)
def test_the_worker_brings_little_of_ours(name: str, brings: set[str]) -> None:
    below = next(below for module, below in GRAPH.items() if module.endswith(f".{name}"))
    assert {other.rpartition(".")[2] for other in below} <= brings
