# Nothing of transformers is followed: its own types are partial, and to bind all of its models
# takes half of a run's time.
from typing import Any

def __getattr__(name: str) -> Any: ...
