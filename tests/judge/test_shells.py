"""Graded from a user's shell, whatever it has set: the same verdicts, or one clear error."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from stand_ins.expectation import HERE, SUBMISSIONS
from stand_ins.isolation import require_sandbox
from stand_ins.shells import ROOT, Said, Shell, blamed, cluster, hostile, tree

RIGHT = HERE / "demo" / "solutions" / "90_echo"
WRONG = SUBMISSIONS / "wrong_value.py"
SHELLS: Mapping[str, Callable[[Path], Shell]] = {
    "cluster": lambda place: Shell(cluster(place), "umask 077 && ulimit -s unlimited"),
    "hostile": lambda place: Shell(hostile(place), "umask 077 && ulimit -i 0 -l 0 -q 0"),
}
LEVELS = {"bwrap": "required", "none": "none"}
REAL = ("06_layernorm", "08_tp_linear", "11_compiled")  # Triton, ranks, torch.compile
each_level = pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk")


def is_same(said: Said, verdicts: Mapping[str, str]) -> bool:
    """Tell whether a grading ended as it should."""
    if said.code not in (0, 1) or "Traceback" in said.err:
        return False
    return said.verdicts == verdicts and said.code == ({*verdicts.values()} != {"passed"})


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo course, and what is right of a grading: that from a shell that has set nothing."""

    tree: Path
    verdicts: Mapping[Path, Mapping[str, str]]

    def assert_same(self, shell: Shell, level: str, *files: Path) -> None:
        """Grade from a shell: nothing may be other than from the empty one."""
        for file in files or (RIGHT,):
            said = shell.grade(self.tree, file, level)
            if not is_same(said, self.verdicts[file]):

                def breaks(few: Shell, file: Path = file) -> bool:
                    return not is_same(few.grade(self.tree, file, level), self.verdicts[file])

                pytest.fail(f"{blamed(shell, breaks)}: {said}")

    def refusal(self, shell: Shell, level: str = "required") -> str:
        """Return the one error that a grading from a shell ends with."""
        return shell.grade(self.tree, RIGHT, level).refusal


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    require_sandbox()
    place = tree(tmp_path_factory.mktemp("course") / "demo", "90_echo")
    said = {file: Shell().grade(place, file, "required") for file in (RIGHT, WRONG)}
    assert {*said[RIGHT].verdicts.values()} == {"passed"}
    assert "failed" in said[WRONG].verdicts.values()
    return Demo(place, {file: one.verdicts for file, one in said.items()})


@contextmanager
def disk(place: Path, options: str) -> Iterator[Shell]:
    """Give a shell whose temporary files lie on a disk with these options."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)
    try:
        yield Shell({"TMPDIR": str(place)})
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@each_level
@pytest.mark.parametrize("shell", SHELLS)
def test_settings_change_no_verdict(demo: Demo, tmp_path: Path, shell: str, level: str) -> None:
    demo.assert_same(SHELLS[shell](tmp_path), level, RIGHT, WRONG)


@pytest.mark.in_turn
@pytest.mark.parametrize("lab", REAL)
@pytest.mark.parametrize("shell", SHELLS)
def test_settings_cost_a_real_lab_nothing(tmp_path: Path, shell: str, lab: str) -> None:
    require_sandbox()
    course = tree(tmp_path / "course", lab)

    said = SHELLS[shell](tmp_path).grade(course, ROOT / "solutions" / lab, "required")

    assert {*said.verdicts.values()} - {"not_graded"} == {"passed"}, said.err
    assert said.code == 0
    assert "Traceback" not in said.err


@pytest.mark.gpu
@pytest.mark.parametrize("shell", SHELLS)
def test_settings_change_no_verdict_on_a_gpu(tmp_path: Path, shell: str) -> None:
    require_sandbox()
    course, right = tree(tmp_path / "course", "91_softmax"), HERE / "clock" / "right_baseline.py"
    expected = Shell().grade(course, right, "required", "cuda")

    said = SHELLS[shell](tmp_path).grade(course, right, "required", "cuda")

    assert said.verdicts == expected.verdicts, said.err


# -- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("n 100", "hard limit on open files is 100, and lab 90 needs 512"),
        ("u 50", "hard limit on processes is 50, and lab 90 needs 104"),
        ("f 1000", "hard limit on the size of a file is 1000, and lab 90 needs 524288"),
        ("v 4000000", "hard limit on addresses is 4000000, and lab 90 needs 9003008"),
        ("d 1000000", "hard limit on data is 1000000, and lab 90 needs 1662976"),
        ("s 1000", "hard limit on the stack is 1000, and lab 90 needs 8192"),
        ("t 30", "hard limit on seconds of processor time is 30, and lab 90 needs 160"),
    ],
)
def test_hard_limit_that_is_too_small_is_one_error(demo: Demo, limit: str, says: str) -> None:
    assert says in demo.refusal(Shell(before=f"ulimit -S{limit} && ulimit -H{limit}"))


@each_level
def test_soft_limits_are_raised(demo: Demo, level: str) -> None:
    small = ("n 40", "u 30", "f 1000", "v 2000000", "d 500000", "s 500", "t 20")

    demo.assert_same(Shell(before=" && ".join(f"ulimit -S{limit}" for limit in small)), level)


# -- disks and files -------------------------------------------------------------------------


def test_folder_that_is_missing_is_replaced(demo: Demo, tmp_path: Path) -> None:
    demo.assert_same(Shell({"TMPDIR": str(tmp_path / "nowhere")}), "required")

    assert not (tmp_path / "nowhere").exists()


@only_root
def test_tiny_disk_is_one_error(demo: Demo, tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "size=1m") as shell:
        assert f"1 MiB are free for temporary files in {tmp_path}" in demo.refusal(shell)


@only_root
def test_disk_that_has_no_room_for_files_is_one_error(demo: Demo, tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "size=100m,nr_inodes=20") as shell:
        refusal = demo.refusal(shell)

    assert "the folder of a grading cannot be filled: No space left on device" in refusal


@only_root
@each_level
@pytest.mark.parametrize("options", ["noexec", "ro"])
def test_disk_that_runs_or_takes_nothing_is_as_good(
    demo: Demo, tmp_path: Path, options: str, level: str
) -> None:
    with disk(tmp_path / "disk", options) as shell:
        demo.assert_same(shell, level)


@only_root
def test_what_is_compiled_needs_a_disk_that_runs_programs(tmp_path: Path) -> None:
    course = tree(tmp_path / "course", "11_compiled")

    with disk(tmp_path / "disk", "noexec") as shell:
        said = shell.grade(course, ROOT / "solutions" / "11_compiled", "none")

    assert "runs no programs (noexec), and lab 11 compiles some" in said.refusal


@only_root
def test_checkpoint_that_workers_cannot_read_is_one_error(tmp_path: Path) -> None:
    """A clone that was made under a umask of 077."""
    course = tree(tmp_path / "course", "01_llama")
    weights = course / "labs" / "checkpoints" / "target" / "model.safetensors"
    weights.chmod(0o600)

    said = Shell().grade(course, ROOT / "solutions" / "01_llama", "required")

    assert f"checkpoint target is closed to other users, as workers are: {weights}" in said.refusal


# -- what is a student's own -------------------------------------------------------------------


def test_script_of_a_student_has_the_whole_shell(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / "own_module.py").write_text("NUMBER = 5\n")
    script = tmp_path / "script.py"
    script.write_text("import os, own_module; print(own_module.NUMBER, os.environ['OMP_SCHEDULE'])")
    shell = Shell({"PYTHONPATH": str(tmp_path), "OMP_SCHEDULE": "guided"})

    said = shell.lab(demo.tree, "python", "90", str(script))

    assert (said.code, said.out) == (0, "5 guided\n"), said.err


# -- what lies elsewhere ---------------------------------------------------------------------


@pytest.mark.parametrize("libraries", [False, True])
def test_bubblewrap_that_lies_elsewhere_is_found_by_path(
    demo: Demo, tmp_path: Path, libraries: bool
) -> None:
    bwrap = str(shutil.which("bwrap"))
    for name in ("bin", "lib"):
        (tmp_path / name).mkdir()
    shutil.copy(bwrap, tmp_path / "bin" / "bwrap")
    settings = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    if libraries:
        settings["LD_LIBRARY_PATH"] = f"{tmp_path}/lib"
        told = subprocess.run(["ldd", bwrap], capture_output=True, text=True, check=True).stdout
        for file in (Path(word) for word in told.split() if word.startswith("/")):
            if not file.name.startswith(("libc.", "ld-linux")):
                shutil.copy(file, tmp_path / "lib" / file.name)

    demo.assert_same(Shell(settings), "required")
