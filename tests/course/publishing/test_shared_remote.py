"""lab publish to a repository that students push to as well."""

from pathlib import Path

from stand_ins.instructors import make_remote, make_repository

from grader.course.git import LIMITS, git
from grader.course.publishing.publish import Order, publish


def test_branches_of_students_without_number_stop_no_publication(tmp_path: Path) -> None:
    root, remote = make_repository(tmp_path / "instructors"), make_remote(tmp_path / "class.git")
    publish(root, Order(("90",), str(remote), "main", "T"))
    tip = git("rev-parse", "main", folder=remote)
    line = f"{tip} refs/heads/student/eve/{'x' * 200}"
    lines = [f"{line}{at:06}\n" for at in range(LIMITS.output // len(line) + 1)]
    head = "# pack-refs with: peeled fully-peeled sorted\n"
    (remote / "packed-refs").write_text(head + "".join(lines))

    publish(root, Order(("91",), str(remote), "main", "T"))

    assert git("tag", "--list", "published/main/*", folder=remote).split() == [
        "published/main/1",
        "published/main/2",
    ]
