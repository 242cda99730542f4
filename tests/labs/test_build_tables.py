"""What a lab says of its builds, and what of it is refused."""

import shutil
from pathlib import Path

import pytest
from stand_ins import expectation

from grader.errors import LabError
from grader.labs.lab import Lab, load_lab

LAB = expectation.find("93_twice")


def changed(folder: Path, old: str, new: str) -> Lab:
    """Load a copy of the lab with one text of its lab.toml replaced."""
    copy = Path(shutil.copytree(LAB.folder, folder / "labs" / LAB.name))
    text = (copy / "lab.toml").read_text()
    assert old in text
    (copy / "lab.toml").write_text(text.replace(old, new, 1))
    return load_lab(copy)


def test_files_of_all_builds_are_what_a_student_writes() -> None:
    assert LAB.sources == ("twice.cpp", "twice.cu")
    assert LAB.handed_in == ("twice.py", "twice.cpp", "twice.cu", "PSEUDOCODE.md")


def test_places_in_the_command_are_filled_in() -> None:
    line = LAB.builds[0].line("/tmp/twice.so", "/opt/torch")

    assert line[0] == "g++"
    assert line[line.index("-isystem") + 1] == "/opt/torch/include"
    assert line[line.index("-o") - 1 : line.index("-o") + 2] == ["twice.cpp", "-o", "/tmp/twice.so"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('name = "twice"', 'name = "Twice"', "no lower-case identifier"),
        ('name = "twice_on_a_gpu"', 'name = "twice"', "build.name: 'twice' occurs twice"),
        ('["twice.cpp"]', '["thrice.cpp"]', "is not named twice.cpp"),
        ('["twice.cpp"]', '["twice.py"]', "is not named twice.cpp"),
        ('["twice.cpp"]', '["../twice.cpp"]', "is not named twice.cpp"),
        ("{output}", "out.so", "does not say where {output} stands"),
        ("{sources}", "twice.cpp", "does not say where {sources} stands"),
        ("-O1", "{home}", "holds {home}, which stands for nothing"),
        ('device = "cuda"', 'device = "tpu"', "must be one of cpu, cuda"),
        ("file_mb = 4", "file_mb = 4096", "must be at most 1024"),
        ("file_mb = 4", "size = 4", "is no key of this table"),
        ('builds = ["twice"]', 'builds = ["thrice"]', "which no build is called"),
        ('builds = ["twice_on_a_gpu"]', 'builds = ["twice"]', "no task uses 'twice_on_a_gpu'"),
        ("alone = true", 'alone = "yes"', "must be true or false, not a string"),
        ('builds = ["twice"]\nalone = true', "alone = true", "alone: needs builds"),
    ],
)
def test_mistake_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(LabError) as caught:
        changed(tmp_path, old, new)

    assert problem in caught.value.message
