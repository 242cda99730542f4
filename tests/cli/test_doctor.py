"""The doctor: each probe is made to fail, and the diagnosis must say so and how to mend it."""

import os
import sys
from pathlib import Path

import pytest

from grader.cli import app, doctor
from grader.cli.doctor import Check, verdict
from grader.cli.terminal.watch import saves
from grader.languages.language import Language, speaking

OK = Check("Python", True, "3.12.1")
NO_TORCH = Check("torch", False, "No module named 'torch'", "run: make setup")
NO_GPU = Check("GPU", False, "no CUDA device", "use a GPU", needed=False)


def test_a_line_says_ok_or_how_to_get_it() -> None:
    assert OK.line == "Python         ok: 3.12.1"
    assert NO_TORCH.line.splitlines() == [
        "torch          missing: No module named 'torch'",
        "               hint: run: make setup",
    ]
    assert "missing, optional" in NO_GPU.line


def test_a_line_is_told_in_chinese() -> None:
    with speaking(Language.CHINESE):
        assert OK.line == "Python         正常：3.12.1"
        assert NO_TORCH.line.splitlines()[0] == "torch          缺少：No module named 'torch'"
        assert NO_GPU.line.startswith("GPU            缺少，可选：没有 CUDA 设备")
        assert verdict([OK, NO_TORCH]) == "这台机器还不能评分：torch。在这里丢的分不算数。"


def test_probes_print_what_is_translated() -> None:
    probes = (doctor.SANDBOX, doctor.USERS, doctor.TRIPWIRE, doctor.LIMITS, doctor.CAGE, doctor.GPU)

    assert [told for told in doctor.TOLD if told.partition("{b")[0] not in "".join(probes)] == []


def test_only_what_is_needed_decides() -> None:
    assert verdict([OK, NO_GPU]).startswith("This machine can grade")
    assert verdict([OK, NO_TORCH]).startswith("This machine cannot grade yet: torch.")


@pytest.mark.parametrize(("checks", "code"), [([OK, NO_GPU], 0), ([OK, NO_TORCH], 1)])
def test_exit_code(monkeypatch: pytest.MonkeyPatch, checks: list[Check], code: int) -> None:
    monkeypatch.setattr(doctor, "diagnose", lambda: iter(checks))
    assert app.main(["doctor"]) == code


@pytest.mark.parametrize(
    ("code", "ok", "detail"),
    [
        ("print('noise'); print('1.2.3')", True, "1.2.3"),
        ("import nonexistent_package", False, "No module named 'nonexistent_package'"),
        ("assert 1 == 2, 'sums are wrong'", False, "AssertionError: sums are wrong"),
        ("import os; os.kill(os.getpid(), 9)", False, "killed by signal 9"),
        ("raise SystemExit(3)", False, "exit code 3"),
        ("print('\\x1b[2Jtricky'); raise SystemExit(1)", False, r"\x1b[2Jtricky"),
    ],
)
def test_a_probe_reports_what_happened(code: str, ok: bool, detail: str) -> None:
    check = doctor._probe("part", code, "mend it")

    assert check.ok is ok
    assert detail in check.line


def test_a_probe_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PROBE_SECONDS", 0.3)
    check = doctor._probe("part", "import time; time.sleep(60)", "mend it")
    assert "no answer in 0.3 s" in check.line


def test_a_missing_package_is_named() -> None:
    assert doctor._package("rich").ok
    assert not doctor._package("nonexistent-package").ok


def test_an_old_python_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    check = doctor._python()
    assert not check.ok
    assert "3.10.4" in check.detail


def test_a_blocked_namespace_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    read = Path.read_text

    def blocked(self: Path) -> str:
        if self.name == "max_user_namespaces":
            return "0\n"
        return "1\n" if self.name == "unprivileged_userns_clone" else read(self)

    monkeypatch.setattr(Path, "read_text", blocked)
    monkeypatch.setattr(Path, "is_file", lambda self: not self.name.startswith("apparmor"))

    check = doctor._namespaces()

    assert not check.ok
    assert check.fix == "run: sudo sysctl -w user.max_user_namespaces=10000"


def test_triton_and_torch_are_made_to_compute() -> None:
    for name, code in (("torch", doctor.TORCH), ("Triton", doctor.TRITON)):
        assert doctor._probe(name, code, "").ok, name
        wrong = code.replace("14.0", "15.0").replace("[0.0, 2.0", "[1.0, 2.0")
        assert "wrong" in doctor._probe(name, wrong, "").detail


# Noticing a save


def test_a_save_is_noticed_once_it_has_settled(tmp_path: Path) -> None:
    code, notes = tmp_path / "llama.py", tmp_path / "PSEUDOCODE.md"
    code.write_text("")
    looks = 0

    def pause() -> None:
        nonlocal looks
        looks += 1
        match looks:
            case 2:
                code.write_text("half")
            case 3:
                code.write_text("half and half")
            case 6:
                notes.write_text("a new file")
            case 9:
                code.unlink()

    found = saves([code, notes], pause)

    assert next(found) == (code,)
    assert looks == 4  # written at 2 and 3, the same at 4
    assert next(found) == (notes,)
    assert looks == 7
    assert next(found) == (code,)
