"""lab.toml: what is read, and the line that an author sees for each mistake."""

import os
from pathlib import Path

import pytest

from grader.errors import LabError, UsageError
from grader.labs.lab import all_labs, find_lab, find_root, lab_names
from grader.labs.task import Criterion

TOML = """
title = "LayerNorm"
summary = "A kernel."
given = ["common"]
imports = ["torch"]

[limits]
call_seconds = 5
memory_mb = 512

[[rules]]
forbid = ["torch.nn.LayerNorm"]
aten = ["native_layer_norm*"]
reason = "you write it"

[[rules]]
package = "transformers"
only = ["from_pretrained"]
reason = "weights only"

[[tasks]]
id = "forward"
title = "Forward"
points = 94.5
functions = ["layer_norm"]
hint = "Think."
steps = 3
names = ["eps"]
order = ["mean", "eps"]

[[tasks]]
id = "pseudocode"
title = "Pseudocode"
points = 5.5
requires = ["forward"]
hint = "Write."
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "06_layernorm", TOML)
    return tmp_path


def write(root: Path, name: str, text: str) -> Path:
    folder = root / "labs" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lab.toml").write_text(text)
    return folder


def test_every_key_arrives(root: Path) -> None:
    lab = find_lab("6", root)

    assert (lab.number, lab.name, lab.topic) == (6, "06_layernorm", "layernorm")
    assert (lab.title, lab.summary) == ("LayerNorm", "A kernel.")
    assert (lab.given, lab.checkpoints, lab.imports) == (("common",), (), ("torch",))
    assert (lab.limits.call_seconds, lab.limits.memory_mb) == (5.0, 512)
    assert lab.limits.open_files == 256
    assert lab.rules[0].forbid == ("torch.nn.LayerNorm",)
    assert lab.rules[0].aten == ("native_layer_norm*",)
    assert (lab.rules[1].package, lab.rules[1].only) == ("transformers", ("from_pretrained",))
    forward = lab.task("forward")
    assert (forward.points, forward.steps, forward.names) == (94.5, 3, ("eps",))
    assert forward.order == ("mean", "eps")
    assert lab.task("pseudocode").order == ()
    assert lab.task("pseudocode").requires == ("forward",)


def test_every_path_follows_from_the_folder_name(root: Path) -> None:
    lab = find_lab("6", root)

    assert lab.stub == root / "labs/06_layernorm/layernorm.py"
    assert lab.pseudocode == root / "labs/06_layernorm/PSEUDOCODE.md"
    assert lab.handout == root / "labs/06_layernorm/README.md"
    assert lab.public_suite == root / "labs/06_layernorm/test_layernorm.py"
    assert lab.hidden_suite == root / "grader/suites/test_06_layernorm.py"
    assert lab.solutions == root / "solutions/06_layernorm"
    assert lab.given_files == (root / "labs/common.py",)


@pytest.mark.parametrize("text", ["6", "06", "06_layernorm", "06_layernorm/", " 6 "])
def test_a_lab_is_found_by_number_and_by_name(root: Path, text: str) -> None:
    assert find_lab(text, root).name == "06_layernorm"


@pytest.mark.parametrize("text", ["7", "layernorm", "", "6.0", "-6", "06_layer", "../06_layernorm"])
def test_an_unknown_lab_lists_those_that_exist(root: Path, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_lab(text, root)

    assert caught.value.message == f"there is no lab {text!r}"
    assert caught.value.hint == "labs: 06_layernorm"


def test_labs_are_the_folders_in_order(root: Path) -> None:
    write(root, "01_llama", TOML)
    (root / "labs" / "checkpoints").mkdir()
    (root / "labs" / "02_file").write_text("")

    assert [lab.name for lab in all_labs(root)] == ["01_llama", "06_layernorm"]


def test_a_broken_lab_does_not_stop_another(root: Path) -> None:
    write(root, "01_llama", "title = 3")

    assert find_lab("6", root).number == 6
    with pytest.raises(LabError, match=r"^labs/01_llama/lab.toml: title: must be a string"):
        find_lab("1", root)


def test_two_labs_of_one_number_are_refused(root: Path) -> None:
    write(root, "06_rope", TOML)

    with pytest.raises(LabError, match="labs/06_layernorm and labs/06_rope have the same number"):
        lab_names(root)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('title = "LayerNorm"', "", "title: is missing"),
        ('title = "LayerNorm"', 'title = " "', "title: must not be empty"),
        ('summary = "A kernel."', "summary = 3", "summary: must be a string, not a whole number"),
        ('given = ["common"]', 'givne = ["common"]', "givne: is no key of this table"),
        ('given = ["common"]', "given = [1]", "given: must hold strings only, not 1"),
        ('given = ["common"]', 'given = "common"', "given: must be a list of strings"),
        ('given = ["common"]', 'given = ["a", "a"]', "given: holds 'a' twice"),
        ("call_seconds = 5", "call_seconds = 0", "limits.call_seconds: must be above 0"),
        ("call_seconds = 5", "call_seconds = inf", "limits.call_seconds: must be at most"),
        ("memory_mb = 512", "memory_mb = 1.5", "limits.memory_mb: must be a whole number"),
        ("memory_mb = 512", "memory = 1", "limits.memory: is no key of this table"),
        ('reason = "you write it"', "", "rules[1].reason: is missing"),
        ('package = "transformers"', "", "rules[2].forbid: is missing"),
        ('aten = ["native_layer_norm*"]', 'package = "x"', "rules[1].package: cannot stand"),
        ('aten = ["native_layer_norm*"]', 'only = ["x"]', "rules[1].only: needs package"),
        ("points = 94.5", 'points = "94.5"', "tasks[1].points: must be a number, not a string"),
        ("points = 94.5", "points = true", "tasks[1].points: must be a number, not a boolean"),
        ("points = 94.5", "points = 90", "tasks.points: they add up to 95.5, not 100"),
        ('hint = "Think."', "", "tasks[1].hint: is missing"),
        ('order = ["mean", "eps"]', 'order = ["mean"]', "tasks[1].order: needs two words or more"),
        ('order = ["mean", "eps"]', 'order = "mean"', "tasks[1].order: must be a list of strings"),
        ('order = ["mean", "eps"]', 'order = ["a", "a"]', "tasks[1].order: holds 'a' twice"),
        ("steps = 3", "step = 3", "tasks[1].step: is no key of this table"),
        ('id = "forward"', 'id = "For ward"', "tasks[1].id: 'For ward' is no lower-case"),
        ('id = "forward"', 'id = "pseudocode"', "tasks.id: 'pseudocode' occurs twice"),
        ('id = "pseudocode"', 'id = "text"', "tasks: no task with id 'pseudocode'"),
        ('requires = ["forward"]', 'requires = ["pseudocode"]', "which is no earlier task"),
        ("[limits]", "[[limits]]", "limits: must be a table, not a list"),
        ("[limits]", "[limits", "is not valid TOML"),
    ],
)
def test_a_mistake_names_file_and_key(root: Path, old: str, new: str, problem: str) -> None:
    assert old in TOML
    write(root, "06_layernorm", TOML.replace(old, new))

    with pytest.raises(LabError) as caught:
        find_lab("6", root)

    assert caught.value.message.startswith("labs/06_layernorm/lab.toml")
    assert problem in caught.value.message


@pytest.mark.parametrize("text", ["", 'title = "a"\nsummary = "b"\ntasks = []'])
def test_a_lab_without_tasks_is_refused(root: Path, text: str) -> None:
    write(root, "06_layernorm", text)

    with pytest.raises(LabError):
        find_lab("6", root)


def test_a_missing_and_an_unreadable_file_are_named(root: Path) -> None:
    file = root / "labs" / "06_layernorm" / "lab.toml"
    file.write_bytes(b"title = '\xff'")
    with pytest.raises(LabError, match=r"labs/06_layernorm/lab.toml cannot be read"):
        find_lab("6", root)

    file.unlink()
    with pytest.raises(LabError, match=r"labs/06_layernorm/lab.toml is missing"):
        find_lab("6", root)


def test_the_root_is_where_the_package_lies_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A student's clone has labs/ too: its lab.toml must not decide what is allowed.
    (tmp_path / "labs").mkdir()
    monkeypatch.chdir(tmp_path)

    root = find_root()

    assert root == Path(__file__).resolve().parents[2]
    assert os.fspath(root) != os.fspath(tmp_path)


def test_an_installed_package_looks_upward_from_the_working_directory(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("site")
    monkeypatch.setattr("grader.labs.lab.ROOT", elsewhere)
    monkeypatch.chdir(root / "labs" / "06_layernorm")

    assert find_root() == root

    monkeypatch.chdir(elsewhere)
    with pytest.raises(UsageError, match="no labs/ folder"):
        find_root()


RUBRIC = """readers = 2
[[rubric]]
id = "why"
title = "Invariant"
points = 5.5
text = "Says what always holds."
prompt = "forward"
"""


def test_a_rubric_is_read_with_its_readers(root: Path) -> None:
    readers, _, criteria = RUBRIC.partition("\n")
    write(root, "06_layernorm", f"{readers}\n{TOML}\n{criteria}")

    lab = find_lab("6", root)

    why = Criterion("why", "Invariant", 5.5, "Says what always holds.", "pseudocode", "forward")
    assert (lab.readers, lab.rubric) == (2, (why,))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("points = 5.5\ntext", "points = 5\ntext", "add up to 5, not 5.5"),
        ('id = "why"', 'id = "Why?"', "no lower-case identifier"),
        ("prompt", "task", "add up to 5.5, not 94.5"),
        ("readers = 2", "readers = 0", "readers"),
    ],
)
def test_a_mistake_in_a_rubric_is_named(root: Path, old: str, new: str, problem: str) -> None:
    readers, _, criteria = RUBRIC.replace(old, new).partition("\n")
    write(root, "06_layernorm", f"{readers}\n{TOML}\n{criteria}")

    with pytest.raises(LabError) as refused:
        find_lab("6", root)

    assert problem in refused.value.line
