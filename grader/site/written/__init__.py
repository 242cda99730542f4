"""Pages that no file has: written from definitions in the code, from lab.toml and from counts."""
