"""Submissions, honest and hostile: what is taken, what is refused, and with which line."""

import os
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.labs.documents.regular import MAX_BYTES, shown
from grader.labs.documents.submission import Submission, collect, fingerprint
from grader.labs.lab import Lab, Limits
from grader.labs.rule import Rule
from grader.labs.task import Task

CODE = b"def rms_norm(x):\n    return x\n"
TEXT = b"## norm\nthink\n"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    root = tmp_path / "course"
    folder = root / "labs" / "01_llama"
    fill(folder)
    (root / "labs" / "llama.py").write_text("given code, no answer")
    rules: tuple[Rule, ...] = ()
    tasks = (Task("norm", "Norm", 95, "h"), Task("pseudocode", "P", 5, "h"))
    return Lab(1, "01_llama", "llama", root, folder, "t", "s", (), (), (), Limits(), rules, tasks)


def fill(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "llama.py").write_bytes(CODE)
    (folder / "PSEUDOCODE.md").write_bytes(TEXT)
    return folder


def take(lab: Lab, source: Path | None, tmp_path: Path) -> Submission:
    return collect(lab, source, tmp_path / "clean" / "tree")


def refusal(lab: Lab, source: Path, tmp_path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        take(lab, source, tmp_path)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_without_a_source_the_own_folder_is_taken(lab: Lab, tmp_path: Path) -> None:
    got = take(lab, None, tmp_path)

    assert got.files == {"llama.py": CODE, "PSEUDOCODE.md": TEXT}
    assert (got.source, got.single_file, got.has_pseudocode) == (lab.folder, False, True)
    assert got.code_path.read_bytes() == got.code == CODE
    assert sorted(path.name for path in got.folder.iterdir()) == ["PSEUDOCODE.md", "llama.py"]


def test_only_allow_listed_files_are_taken(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "student")
    for name in ("conftest.py", "pytest.ini", "torch.py", "test_llama.py", "sitecustomize.py"):
        (folder / name).write_text("raise SystemExit")
    (folder / "labs").mkdir()

    got = take(lab, folder, tmp_path)

    assert sorted(path.name for path in got.folder.iterdir()) == ["PSEUDOCODE.md", "llama.py"]


@pytest.mark.parametrize("inside", ["01_llama", "labs/01_llama"])
def test_a_tree_that_holds_the_lab_is_taken(lab: Lab, tmp_path: Path, inside: str) -> None:
    folder = fill(tmp_path / "student" / inside)

    got = take(lab, tmp_path / "student", tmp_path)

    assert (got.code, got.source) == (CODE, folder)


def test_given_code_beside_the_lab_folder_is_not_mistaken_for_the_answer(
    lab: Lab, tmp_path: Path
) -> None:
    got = take(lab, lab.root / "labs", tmp_path)

    assert got.code == CODE


def test_one_file_of_any_name_stands_for_the_code(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "my answer (final)"
    file.write_bytes(b"x = 1\n")

    got = take(lab, file, tmp_path)

    assert got.files == {"llama.py": b"x = 1\n"}
    assert (got.single_file, got.has_pseudocode, got.pseudocode) == (True, False, None)


def test_the_pseudocode_beside_one_file_is_taken_with_it(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "student")
    (folder / "second try.py").write_bytes(b"x = 1\n")
    (folder / "test_llama.py").write_text("raise SystemExit")

    got = take(lab, folder / "second try.py", tmp_path)

    assert got.files == {"llama.py": b"x = 1\n", "PSEUDOCODE.md": TEXT}
    assert (got.single_file, got.has_pseudocode, got.pseudocode) == (False, True, TEXT)
    assert got.source == folder / "second try.py"
    assert got.sha256 == fingerprint(got.files)


def test_what_lies_beside_one_file_is_read_with_the_same_care(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "student")
    code, text = folder / "llama.py", folder / "PSEUDOCODE.md"
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    text.unlink()

    text.symlink_to(secret)
    assert refusal(lab, code, tmp_path).endswith("student/PSEUDOCODE.md is a link")
    text.unlink()
    text.symlink_to(folder / "dangling")
    assert refusal(lab, code, tmp_path).endswith("student/PSEUDOCODE.md is a link")
    text.unlink()
    os.mkfifo(text)
    assert refusal(lab, code, tmp_path).endswith("student/PSEUDOCODE.md is not a regular file")
    text.unlink()
    text.mkdir()
    assert refusal(lab, code, tmp_path).endswith("student/PSEUDOCODE.md is a folder")
    text.rmdir()
    text.write_bytes(b"#" * (MAX_BYTES + 1))
    assert refusal(lab, code, tmp_path).endswith("PSEUDOCODE.md is larger than 1024 KiB")
    assert not (tmp_path / "clean").exists()


def test_pseudocode_under_another_name_or_below_is_not_beside(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "student")
    (folder / "PSEUDOCODE.md").rename(folder / "pseudocode.txt")
    fill(folder / "more")

    got = take(lab, folder / "llama.py", tmp_path)

    assert (list(got.files), got.single_file) == (["llama.py"], True)


def test_one_file_in_the_working_folder_is_taken_with_what_lies_there(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fill(tmp_path / "student"))

    got = take(lab, Path("llama.py"), tmp_path)

    assert got.pseudocode == TEXT


def test_a_folder_without_pseudocode_is_no_single_file(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "student")
    (folder / "PSEUDOCODE.md").unlink()

    got = take(lab, folder, tmp_path)

    assert (got.single_file, got.has_pseudocode) == (False, False)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff\xfe", b"# coding: klingon\n", b"def (", b"(" * 100_000]
)
def test_what_is_wrong_inside_the_code_is_no_usage_error(
    lab: Lab, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "answer.py"
    file.write_bytes(content)

    assert take(lab, file, tmp_path).code == content


def test_a_missing_source_is_named(lab: Lab, tmp_path: Path) -> None:
    assert refusal(lab, tmp_path / "nowhere", tmp_path).endswith("nowhere does not exist")
    assert refusal(lab, Path("null\0byte"), tmp_path) == "null\\x00byte does not exist"


def test_a_folder_without_the_code_says_which_file_is_missing(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "student")
    (folder / "llama.py").rename(folder / "Llama.txt")

    with pytest.raises(UsageError, match=r"student has no llama.py") as caught:
        take(lab, folder, tmp_path)

    assert "01_llama/" in caught.value.hint


@pytest.mark.parametrize("name", ["llama.py", "PSEUDOCODE.md"])
def test_nothing_but_a_regular_file_is_opened(lab: Lab, tmp_path: Path, name: str) -> None:
    folder = fill(tmp_path / "student")
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    path = folder / name
    path.unlink()

    path.symlink_to(secret)
    assert refusal(lab, folder, tmp_path).endswith(f"{name} is a link")
    path.unlink()
    path.symlink_to(folder / "dangling")
    assert refusal(lab, folder, tmp_path).endswith(f"{name} is a link")
    path.unlink()
    os.mkfifo(path)
    assert refusal(lab, folder, tmp_path).endswith(f"{name} is not a regular file")
    path.unlink()
    path.mkdir()
    assert refusal(lab, folder, tmp_path).endswith(f"{name} is a folder")


def test_a_device_and_a_linked_file_are_refused_as_a_single_file(lab: Lab, tmp_path: Path) -> None:
    link = tmp_path / "answer.py"
    link.symlink_to(lab.stub)

    assert refusal(lab, link, tmp_path).endswith("answer.py is a link")
    assert refusal(lab, Path("/dev/zero"), tmp_path) == "/dev/zero is not a regular file"


@pytest.mark.parametrize(("linked", "inside"), [("01_llama", ""), ("labs", "01_llama")])
def test_a_linked_folder_inside_a_tree_is_not_followed(
    lab: Lab, tmp_path: Path, linked: str, inside: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    fill(elsewhere / inside)
    tree = tmp_path / "student"
    tree.mkdir()
    (tree / linked).symlink_to(elsewhere)

    assert refusal(lab, tree, tmp_path).endswith(f"student/{linked} is not a folder")


def test_the_tree_itself_may_be_a_link_of_the_person_who_grades(lab: Lab, tmp_path: Path) -> None:
    fill(tmp_path / "student")
    (tmp_path / "alias").symlink_to(tmp_path / "student")

    assert take(lab, tmp_path / "alias", tmp_path).code == CODE


def test_sizes_are_capped(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "student")
    (folder / "llama.py").write_bytes(b"#" * MAX_BYTES)
    assert len(take(lab, folder, tmp_path).code) == MAX_BYTES

    (folder / "llama.py").write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(UsageError, match=r"llama.py is larger than 1024 KiB"):
        collect(lab, folder, tmp_path / "other")


@pytest.mark.parametrize("name", ["work.zip", "work.tar.gz", "PSEUDOCODE.md"])
def test_what_is_plainly_no_python_file_is_refused(lab: Lab, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK")

    assert refusal(lab, tmp_path / name, tmp_path).endswith(f"{name} is not a Python file")


def test_control_characters_of_a_name_are_shown_escaped() -> None:
    assert shown("a\x1b[31m\nb\u202eé") == "a\\x1b[31m\\nb\\u202eé"


def test_later_edits_of_the_source_change_nothing(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "student")
    got = take(lab, folder, tmp_path)

    (folder / "llama.py").write_text("changed")

    assert got.code_path.read_bytes() == got.code == CODE


def test_a_tree_that_is_not_empty_is_never_written_to(lab: Lab, tmp_path: Path) -> None:
    take(lab, None, tmp_path)

    with pytest.raises(ValueError, match="is not empty"):
        take(lab, None, tmp_path)


def test_the_fingerprint_depends_on_names_and_bytes_alone() -> None:
    base = fingerprint({"a": b"1", "b": b"2"})

    assert base == fingerprint({"b": b"2", "a": b"1"})
    others = [{"a": b"1"}, {"a": b"12", "b": b""}, {"a": b"2", "b": b"1"}, {"a": b"1", "c": b"2"}]
    assert len({base, *map(fingerprint, others)}) == 5


def test_text_begins_without_a_byte_order_mark(lab: Lab, tmp_path: Path) -> None:
    folder = fill(tmp_path / "own")
    (folder / "llama.py").write_bytes(b"\xef\xbb\xbfx = '\xff'\n")

    assert take(lab, folder, tmp_path).text == "x = '\ufffd'\n"
