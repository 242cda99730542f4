"""Writing a report: whole or not at all, and only where it can be written."""

import json
import os
import re
import stat
from pathlib import Path

import pytest
from stand_ins.sample_reports import hostile_everywhere, mixed

from grader.errors import UsageError
from grader.files import check_writable, write_file
from grader.report.formats.forms import Form, Output, planned, write


def test_writing_replaces_a_file_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    write(mixed(), (Output(Form.JSON, str(target)), Output(Form.HTML, str(tmp_path / "r.html"))))

    assert json.loads(target.read_text())["score"] == 10.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "report.json"]


def test_a_new_report_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_file(tmp_path / "report", b"x")
    (tmp_path / "other").write_bytes(b"x")

    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("report", "other")}
    assert len(modes) == 1


def test_a_link_is_written_through_and_a_device_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    write_file(tmp_path / "link", b"new")
    write_file(fifo, b"through")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    assert os.read(reader, 100) == b"through"
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    os.close(reader)


def test_a_failed_write_leaves_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report"
    target.write_bytes(b"old")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write_file(target, b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("", "cannot write to ''"),
        ("a\0b", "cannot write to"),
        (".", "it is a folder"),
        ("/nonexistent/folder/report.json", "no folder"),
        ("/proc/report.json", "cannot write"),
    ],
)
def test_what_cannot_be_written_is_known_before(target: str, reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        check_writable(target)


def test_two_outputs_in_one_place_are_refused(tmp_path: Path) -> None:
    place = str(tmp_path / "report")
    with pytest.raises(UsageError, match="both write to"):
        planned({Form.JSON: place, Form.HTML: f"{tmp_path}/./report"})
    with pytest.raises(UsageError, match="both write to -"):
        planned({Form.JSON: "-", Form.MARKDOWN: "-"})


def test_standard_output_gets_the_report_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(hostile_everywhere(), (Output(Form.JSON, "-"),))

    assert json.loads(capsys.readouterr().out)["schema"] == 1
