"""The leak scan: what it finds, wherever it is, and what it lets pass."""

import functools
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from stand_ins.instructors import (
    ANSWER,
    PERSON,
    ROOT,
    append,
    commit,
    make_remote,
    make_repository,
    write,
)

from grader.course.git import git
from grader.course.publishing.hidden import (
    HARMLESS,
    Hidden,
    Place,
    essence,
    harmless,
    hidden_lines,
    is_hidden,
    lines_of,
    public_lines,
    telling,
    whole,
)
from grader.course.publishing.leak import MOST_UNPACKED, Leak, readable
from grader.course.publishing.publish import Order, publish
from grader.course.publishing.repository import files_at, read_objects
from grader.course.publishing.selection import lab_folders, select
from grader.course.publishing.shapes import shapes
from grader.course.publishing.tree import student_tree

SECRET = "        self._rows.append(row.clone())\n"  # of the model answer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "instructors")


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "students.git")


@pytest.fixture
def scan(root: Path, remote: Path) -> Callable[..., list[Leak]]:
    """Commit, publish, and return what was found; nothing was pushed then."""

    def call(*labs: str) -> list[Leak]:
        commit(root, "Change", "--allow-empty")
        before = git("for-each-ref", folder=remote)
        leaks = publish(root, Order(labs or ("90",), str(remote), "main", "Labs")).leaks
        assert not leaks or git("for-each-ref", folder=remote) == before
        return list(leaks)

    return call


Scan = Callable[..., list[Leak]]


def test_the_demo_course_is_clean(scan: Scan) -> None:
    assert scan("90-92") == []


# Lines


@pytest.mark.parametrize(
    "line",
    [
        "self._rows.append(row.clone())",
        "\t\tself._rows.append( row.clone() )   ",
        "# self._rows.append(row.clone())",
        "    #   12: self._rows.append(row.clone())",
        "> `self._rows.append(row.clone())`",
        '"self._rows.append(row.clone())",',
        "- self._rows.append(row.clone())",
        "self._rows.append(row.clone())  # keep it",
    ],
)
def test_marks_around_a_line_do_not_count(line: str) -> None:
    assert telling(line) & telling(SECRET)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "return x",
        "import torch.distributed as dist",
        "from grader.suite import assert_close",
        "#include <torch/csrc/stable/library.h>",
        "using torch::headeronly::ScalarType;",
    ],
)
def test_short_lines_and_imports_tell_nothing(line: str) -> None:
    assert telling(line) == set()


def test_essence_keeps_what_is_said() -> None:
    assert essence("3. `__init__` takes  1.5 of it.") == "__init__`takes1.5ofit"


def test_a_hidden_line_knows_all_its_places() -> None:
    files = {
        "solutions/90_echo/wrong/a.py": SECRET.encode(),
        "solutions/90_echo/echo.py": b"x = 1\n" + SECRET.encode(),
        "labs/90_echo/echo.py": b"not hidden, though it is long enough\n",
    }

    hidden = hidden_lines(files)

    assert hidden == {
        essence(SECRET): (
            Place("solutions/90_echo/echo.py", 2),
            Place("solutions/90_echo/wrong/a.py", 1),
        )
    }
    assert hidden[essence(SECRET)][0].lab == "90_echo"
    assert Place("grader/suites/baseline_91_softmax.py", 1).lab == "91_softmax"
    assert Place("reference/rope.py", 1).lab == ""


# Where a line may stand


@pytest.mark.parametrize(
    ("path", "text", "origin"),
    [
        ("labs/90_echo/README.md", SECRET, "solutions/90_echo/"),
        ("labs/90_echo/test_echo.py", f"#{SECRET}", "solutions/90_echo/"),
        ("labs/90_echo/lab.toml", f"# {SECRET}", "solutions/90_echo/"),
        ("labs/common.py", f"    {SECRET}", "solutions/90_echo/"),
        ("grader/renamed.py", "    return [value * factor for value in values]\n", "reference/"),
        ("grader/text.py", "def test_full_store_refuses(student, draw):\n", "grader/suites/"),
        ("LICENSE", ANSWER, "solutions/90_echo/ANSWERS.md"),
        ("Makefile", "# 1. keep a list of copies, in order of arrival\n", "solutions/90_echo/PSEU"),
        ("pyproject.toml", "# bool in place of a check: an infinite factor is let through", ""),
    ],
)
def test_one_line_in_any_file_is_found(
    root: Path, scan: Scan, path: str, text: str, origin: str
) -> None:
    write(root, path, ((root / path).read_text() if (root / path).exists() else "") + "\n" + text)

    (leak,) = scan()

    assert leak.path == path
    assert leak.kind == "blob"
    assert leak.place is not None
    assert leak.place.file.startswith(origin)
    assert leak.text in text
    if path != "Makefile":  # of which students get a part
        assert leak.text in (root / path).read_text().splitlines()[leak.line - 1]


def test_an_answer_left_in_the_stub_is_found(root: Path, scan: Scan) -> None:
    stub = (root / "labs/90_echo/echo.py").read_text()
    answer = "    return (x.float() * factor).to(x.dtype)\n"
    write(
        root,
        "labs/90_echo/echo.py",
        stub.replace('    raise NotImplementedError("scale: scale")\n', answer),
    )

    (leak,) = scan()

    assert (leak.path, leak.text) == ("labs/90_echo/echo.py", answer.strip())


RENAMED = """
def fortsetzen(modell, anfang: list[int], schritte: int) -> list[int]:
    \"\"\"Wie es weitergeht.\"\"\"
    lager = Kiste(Mass(width=modell.width, capacity=schritte))
    folge = list(anfang)
    for _ in range(schritte):
        folge.append(int(modell(torch.tensor([folge]), store=lager).argmax()))
    return folge[len(anfang) :]
"""


def test_a_function_is_found_under_other_names(root: Path, scan: Scan) -> None:
    write(root, "grader/weiter.py", RENAMED)

    (leak,) = scan()

    assert (leak.path, leak.line) == ("grader/weiter.py", 2)
    assert leak.text == "fortsetzen is the same code under other names"
    assert leak.place is not None
    assert leak.place.file == "solutions/90_echo/echo.py"


EDIT = '''"""The prompt comes back too.

Fails: generate
"""

LINES = {
    "generate": r"""
-     tokens = list(prompt)
+     tokens = [*reversed(prompt)]
...
-     return tokens[len(prompt) :]
+     return [token for token in tokens if token > 0]
""",
}
'''
EDITED = RENAMED.replace("list(anfang)", "[*reversed(anfang)]").replace(
    "folge[len(anfang) :]", "[token for token in folge if token > 0]"
)


@pytest.mark.parametrize("mark", ["", "+ ", "    ", "- ", "# + ", "> +"])
def test_a_line_of_an_edit_is_found_with_its_mark_and_without(
    root: Path, scan: Scan, mark: str
) -> None:
    write(root, "solutions/90_echo/wrong/prompt_too.py", EDIT)
    append(root, "labs/90_echo/README.md", f"{mark}return [token for token in tokens if token > 0]")

    (leak,) = scan()

    assert leak.path == "labs/90_echo/README.md"
    assert leak.place is not None
    assert leak.place == Place("solutions/90_echo/wrong/prompt_too.py", 12)


def test_an_edit_is_found_under_another_name(root: Path, scan: Scan) -> None:
    write(root, "solutions/90_echo/wrong/prompt_too.py", EDIT)
    write(root, "grader/prompt.txt.py", EDIT)

    assert {leak.path for leak in scan()} == {"grader/prompt.txt.py"}


def test_a_function_that_an_edit_makes_is_found_under_other_names(root: Path, scan: Scan) -> None:
    write(root, "grader/weiter.py", EDITED)
    assert scan() == []
    write(root, "solutions/90_echo/wrong/prompt_too.py", EDIT)

    (leak,) = scan()

    assert leak.text == "fortsetzen is the same code under other names"
    assert leak.place is not None
    assert leak.place.file == "solutions/90_echo/wrong/prompt_too.py"


def test_an_edit_that_is_stale_hides_its_lines_all_the_same(root: Path, scan: Scan) -> None:
    write(root, "solutions/90_echo/wrong/prompt_too.py", EDIT.replace("(prompt)", "(prompts)"))
    append(root, "labs/90_echo/README.md", "return [token for token in tokens if token > 0]")

    assert [leak.path for leak in scan()] == ["labs/90_echo/README.md"]


def test_given_code_in_the_stub_is_allowed(root: Path, scan: Scan) -> None:
    given = RENAMED.replace("schritte", "weite").replace("list(anfang)", "[*anfang, *anfang]")
    for path in ("labs/90_echo/echo.py", "solutions/90_echo/echo.py"):
        append(root, path, "\n" + given)

    assert scan() == []


def test_a_solution_under_the_name_of_the_stub_is_found(root: Path, scan: Scan) -> None:
    write(root, "labs/90_echo/echo.py", (root / "solutions/90_echo/echo.py").read_text())

    assert {leak.path for leak in scan()} == {"labs/90_echo/echo.py"}


def test_a_hidden_test_among_the_public_ones_is_found(root: Path, scan: Scan) -> None:
    suite = (root / "grader/suites/test_90_echo.py").read_text()
    start = suite.index("def test_full_store_refuses")
    append(root, "labs/90_echo/test_echo.py", "\n\n" + suite[start : suite.index("class Script")])

    assert "def test_full_store_refuses(student, draw):" in [leak.text for leak in scan()]


def test_what_stub_and_answer_share_is_allowed(root: Path, scan: Scan) -> None:
    line = 'class Other:\n    """Rows in their order, as many as it has room for."""\n'
    for path in ("labs/90_echo/echo.py", "solutions/90_echo/echo.py"):
        append(root, path, "\n\n" + line)

    assert scan() == []


def test_what_public_tests_share_with_the_suite_is_allowed_only_there(
    root: Path, scan: Scan
) -> None:
    line = "HELPER = [value + 1 for value in range(17)]\n"
    for path in ("labs/90_echo/test_echo.py", "grader/suites/test_90_echo.py"):
        append(root, path, line)
    assert scan() == []

    append(root, "solutions/90_echo/echo.py", line)
    assert [leak.path for leak in scan()] == ["labs/90_echo/test_echo.py"]


def test_what_sizes_for_students_share_with_the_suite_is_allowed_only_there(
    root: Path, scan: Scan
) -> None:
    line = "SIZES = [(value, value + 1) for value in range(17)]\n"
    write(root, "labs/speed/__init__.py", "")
    write(root, "labs/speed/echo.py", line)
    append(root, "grader/suites/test_90_echo.py", line)
    assert scan() == []

    append(root, "solutions/90_echo/echo.py", line)
    assert [leak.path for leak in scan()] == ["labs/speed/echo.py"]


def test_given_code_may_give_away_what_its_labs_do_not_ask(root: Path, scan: Scan) -> None:
    line = "def whole_echo(values): return [value for value in values]\n"
    append(root, "labs/common.py", line)
    append(root, "solutions/91_softmax/softmax.py", line)
    assert scan() == []

    append(root, "solutions/90_echo/echo.py", line)
    assert [leak.path for leak in scan()] == ["labs/common.py"]


# In which object


def test_an_old_commit_is_found_though_a_later_one_mends_it(
    root: Path, scan: Scan, remote: Path
) -> None:
    append(root, "labs/90_echo/README.md", "Rows are copied and kept in this object.\n")
    assert scan() == []
    # The line becomes a part of the answer, and leaves the handout: students have it all the same.
    append(root, "solutions/90_echo/echo.py", "# Rows are copied and kept in this object.\n")
    readme = (root / "labs/90_echo/README.md").read_text().splitlines(keepends=True)
    write(root, "labs/90_echo/README.md", "".join(readme[:-1]))

    (leak,) = scan()

    assert leak.path == "labs/90_echo/README.md"
    old = git("rev-parse", "main:labs/90_echo/README.md", folder=remote)
    assert leak.object == old


def test_the_message_of_a_tag_is_scanned(scan: Scan, remote: Path) -> None:
    assert scan() == []
    name = "published/main/1"
    tip = git("rev-parse", "main", folder=remote)
    git("tag", "-f", "-a", "-m", SECRET, name, tip, folder=remote, env=PERSON)

    (leak,) = scan()

    assert (leak.kind, leak.object) == ("tag", git("rev-parse", name, folder=remote))


def test_the_message_of_a_commit_is_scanned(scan: Scan, remote: Path) -> None:
    assert scan() == []
    # A commit that changes no file is no change of the branch, and still has a message.
    tree = git("rev-parse", "main^{tree}", folder=remote)
    parent = git("rev-parse", "main", folder=remote)
    new = git("commit-tree", tree, "-p", parent, "-m", SECRET, folder=remote, env=PERSON)
    git("update-ref", "refs/heads/main", new, folder=remote)

    (leak,) = scan("91")

    assert (leak.kind, leak.object) == ("commit", new)


def test_what_is_no_text_is_reported(root: Path, scan: Scan) -> None:
    (root / "labs/90_echo/README.md").write_bytes(SECRET.encode("utf-16"))

    (leak,) = scan()

    assert (leak.path, leak.line, leak.place) == ("labs/90_echo/README.md", 0, None)
    assert "not text" in str(leak)


def test_what_was_packed_is_read_as_what_it_packs(root: Path, scan: Scan) -> None:
    given = "from labs.common import EchoConfig\n\nTRACE = 'labs/checkpoints/trace.json.gz'\n"
    write(root, "labs/echo_trace.py", given)
    toml = (root / "labs/90_echo/lab.toml").read_text()
    write(root, "labs/90_echo/lab.toml", toml.replace("given = [", 'given = ["echo_trace", '))
    packed = root / "labs/checkpoints/trace.json.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(b'{"events": []}\n'))
    assert scan() == []

    packed.write_bytes(gzip.compress(SECRET.encode()))
    assert {leak.path for leak in scan()} == {"labs/checkpoints/trace.json.gz"}
    packed.write_bytes(gzip.compress(SECRET.encode())[:-9])
    assert ["not text" in str(leak) for leak in scan()] == [True]
    packed.write_bytes(gzip.compress(b"a" * (MOST_UNPACKED + 1)))
    assert ["not text" in str(leak) for leak in scan()] == [True]


def test_every_file_of_the_real_labs_can_be_read(files: dict[str, bytes]) -> None:
    tree = student_tree(files, select(lab_folders(files), files), "Labs")

    assert [path for path, content in tree.items() if readable(content, path) is None] == []


def test_weights_may_be_no_text_but_a_renamed_suite_is_found(root: Path, scan: Scan) -> None:
    toml = (root / "labs/90_echo/lab.toml").read_text()
    write(root, "labs/90_echo/lab.toml", 'checkpoints = ["tiny"]\n' + toml)
    write(root, "labs/checkpoints/tiny/config.json", "{}")
    (root / "labs/checkpoints/tiny/model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}" * 9)
    assert scan() == []

    suite = (root / "grader/suites/test_90_echo.py").read_text()
    write(root, "labs/checkpoints/tiny/model.safetensors", suite)
    assert {leak.path for leak in scan()} == {"labs/checkpoints/tiny/model.safetensors"}


@pytest.mark.parametrize("spoil", [lambda whole: whole[:-9], lambda whole: whole + b"\0more"])
def test_a_packed_file_that_cannot_be_read_to_its_end_is_no_text(
    root: Path, scan: Scan, spoil: Callable[[bytes], bytes]
) -> None:
    toml = (root / "labs/90_echo/lab.toml").read_text()
    write(root, "labs/90_echo/lab.toml", 'checkpoints = ["tiny"]\n' + toml)
    write(root, "labs/checkpoints/tiny/config.json", "{}")
    packed = root / "labs/checkpoints/tiny/trace.json.gz"
    packed.write_bytes(spoil(gzip.compress(SECRET.encode())))

    (leak,) = scan()

    assert "not text" in str(leak)


def test_a_path_of_instructors_is_found_whatever_it_holds(root: Path, scan: Scan) -> None:
    toml = (root / "labs/90_echo/lab.toml").read_text()
    write(root, "labs/90_echo/lab.toml", 'checkpoints = ["tiny"]\n' + toml)
    write(root, "labs/checkpoints/tiny/ANSWERS.md", "")

    (leak,) = scan()

    assert leak.path == "labs/checkpoints/tiny/ANSWERS.md"
    assert "only instructors" in str(leak)


# The real labs


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """The tree as it lies here, for a commit may be behind it."""
    found: dict[str, bytes] = {}
    for folder in ("labs", "grader", "bench", "solutions", "reference"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
                found[str(path.relative_to(ROOT))] = path.read_bytes()
    for name in ("LICENSE", "Makefile", "constraints.txt", "pyproject.toml", ".gitignore"):
        found[name] = (ROOT / name).read_bytes()
    return found


@pytest.fixture(scope="module")
def hidden(files: dict[str, bytes]) -> Hidden:
    return hidden_lines(files)


@pytest.fixture(scope="module")
def answers(files: dict[str, bytes]) -> dict[str, frozenset[str]]:
    """The forms of every hidden file of code, of an edit those of the answer that it builds."""
    known: dict[bytes, str] = {}
    code = [path for path in files if is_hidden(path) and path.endswith(".py")]
    return {path: forms(whole(files, path), known) for path in code}


def forms(content: bytes, known: dict[bytes, str]) -> frozenset[str]:
    lines = {form for _, line in lines_of(content) for form in telling(line)}
    return frozenset(lines | {shape.digest for shape in shapes(content, known)})


@functools.cache
def forms_of(content: bytes) -> frozenset[str]:
    return forms(content, {})


def test_each_lab_and_each_beginning_of_the_course_is_clean(
    files: dict[str, bytes], hidden: Hidden
) -> None:
    names = lab_folders(files)
    choices = [[name] for name in names] + [names[:end] for end in range(2, len(names) + 1)]
    for chosen in choices:
        tree = student_tree(files, select(chosen, files), "Labs")
        public = public_lines(files, [tree])
        found = [
            (path, form)
            for path, content in tree.items()
            for form in hidden.keys() & forms_of(content)
            if not public.allows(form, hidden[form])
        ]
        assert found == [], f"publishing {chosen}: is it harmless? see docs/course.md"


def test_every_answer_of_a_real_lab_would_be_found(
    files: dict[str, bytes], hidden: Hidden, answers: dict[str, frozenset[str]]
) -> None:
    """The other way round: of each hidden file enough lines are left to know it by."""
    names = lab_folders(files)
    tree = student_tree(files, select(names, files), "Labs")
    public = public_lines(files, [tree])
    for path, forms in answers.items():
        if path.rpartition("/")[2] != "__init__.py":
            found = hidden.keys() & forms
            kept = [form for form in found if not public.allows(form, hidden[form])]
            assert len(kept) >= 3, path


def test_every_line_of_an_edited_answer_is_known(
    hidden: Hidden, answers: dict[str, frozenset[str]]
) -> None:
    wrong = {path: forms for path, forms in answers.items() if "/wrong/" in path}
    assert wrong
    for path, forms in wrong.items():
        assert forms <= hidden.keys() | harmless(), path


def test_the_harmless_lines_are_needed(files: dict[str, bytes]) -> None:
    """A line that stands in no published file, or in no hidden one, is dead weight on the list."""
    tree = student_tree(files, select(lab_folders(files), files), "Labs")
    shown = {form for content in tree.values() for form in forms_of(content)}
    kept = {form for path in files if is_hidden(path) for form in forms_of(files[path])}
    for line in HARMLESS.read_text(encoding="utf-8").splitlines():
        assert telling(line) & shown & kept, line


def test_objects_are_read_as_they_are(root: Path) -> None:
    files = files_at(root, "HEAD")
    assert files["labs/90_echo/echo.py"] == (root / "labs/90_echo/echo.py").read_bytes()
    assert list(read_objects(root, [])) == []
