"""The whole way: what is staged is built in both languages, and then checked."""

import shutil
from pathlib import Path

from grader.errors import InferlabError
from grader.labs.lab import all_labs
from grader.site.check import problems
from grader.site.sources.repository import read_repository
from grader.site.sphinx.run import build
from grader.site.stage import FOLDERS, others, stage


def build_site(root: Path, target: Path) -> list[str]:
    """Build the site of a repository into a folder, and list what is wrong with it.

    What lay in the folder is gone first, if it was a site.
    """
    _clear(target)
    repository = read_repository(root)
    english, chinese = stage(repository, all_labs(root))
    work = target.with_name(f"{target.name}-work")
    shutil.rmtree(work, ignore_errors=True)
    anchors: dict[str, list[str]] = {}
    found: list[str] = []
    for one, other in ((english, chinese), (chinese, english)):
        one.write(repository, work / one.language)
        folder = target / FOLDERS[one.language]
        found += build(work / one.language, folder, one.language, anchors, others(one, other))
        shutil.rmtree(folder / ".doctrees", ignore_errors=True)
        (folder / ".buildinfo").unlink(missing_ok=True)
    shutil.rmtree(work)
    return [line.replace(f"{work}/", "") for line in found] + problems(target)


def _clear(target: Path) -> None:
    is_site = (target / "index.html").is_file() and (target / "searchindex.js").is_file()
    if target.exists() and not is_site and any(target.iterdir()):
        raise InferlabError(f"{target} is not empty, and no site", "name another by --to")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
