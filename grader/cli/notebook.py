"""``lab notebook``: write a lab's notebook, or bring it up to date, and open it in JupyterLab."""

import importlib.util
import os
import subprocess
import sys

from grader.errors import UsageError
from grader.labs.lab import find_lab, find_root
from grader.languages.language import say
from grader.notebook.files import write_notebook
from grader.text import visible_line


def write_and_open(lab_text: str, *, show: bool) -> int:
    """Write the notebook; with ``show`` return JupyterLab's exit code once it has ended."""
    root = find_root()
    lab = find_lab(lab_text, root)
    if lab.is_manual:
        hint = f"edit {', '.join(lab.files)} in labs/{lab.name}"
        raise UsageError(f"people grade lab {lab.number}: it has no notebook", hint)
    done = write_notebook(lab, _ask)
    for line in done.lines:
        print(visible_line(say(line)))
    if not show:
        return 0
    if importlib.util.find_spec("jupyterlab") is None:
        raise UsageError("JupyterLab is not installed", "pip install -e '.[notebook]'")
    environment = dict(os.environ)
    folders = (str(root), environment.get("PYTHONPATH", ""))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    command = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={root}", str(done.file)]
    try:
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:  # Ctrl-C is how JupyterLab is ended
        return 0


def _ask(part: str) -> str:
    """Ask which side of a part is to stay, where both have changed."""
    if not sys.stdin.isatty():
        return ""
    question = f"{part} has changed in the notebook and in the file. Take the file's into the cell?"
    answer = input(f"{say(question)} [y/N] ").strip().lower()
    return "f" if answer in ("y", "yes") else ""
