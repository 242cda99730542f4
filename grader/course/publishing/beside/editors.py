"""Settings for editors: the labs' tests in an explorer, and a container that has all they need."""

import json
from collections.abc import Sequence

from grader.labs.lab import Lab

SETTINGS, EXTENSIONS = ".vscode/settings.json", ".vscode/extensions.json"
CONTAINER = ".devcontainer/devcontainer.json"
EDITORS = (SETTINGS, EXTENSIONS, CONTAINER)
PYTHON = ["ms-python.python"]


def editor_files(labs: Sequence[Lab], title: str) -> dict[str, bytes]:
    """Return the files by path in the tree; none without a lab."""
    if not labs:
        return {}
    settings = {
        "python.defaultInterpreterPath": "${workspaceFolder}/.venv/bin/python",
        "python.testing.pytestEnabled": True,
        "python.testing.unittestEnabled": False,
        "python.testing.pytestArgs": ["labs"],
        "python.testing.autoTestDiscoverOnSaveEnabled": True,
        "files.exclude": {"**/__pycache__": True},
        "files.watcherExclude": {"**/.venv/**": True},
    }
    container = {
        "name": title,
        "image": "mcr.microsoft.com/devcontainers/python:3.11-bookworm",
        # As in deploy/: isolation needs user namespaces, which a runtime forbids by default.
        "runArgs": [
            "--security-opt",
            "seccomp=unconfined",
            "--security-opt",
            "systempaths=unconfined",
        ],
        "onCreateCommand": "sudo apt-get update && sudo apt-get install -y bubblewrap gcc make",
        "postCreateCommand": "make setup",
        "customizations": {"vscode": {"extensions": PYTHON}},
    }
    found = {SETTINGS: settings, EXTENSIONS: {"recommendations": PYTHON}, CONTAINER: container}
    return {path: (json.dumps(data, indent=2) + "\n").encode() for path, data in found.items()}
