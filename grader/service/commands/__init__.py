"""The commands by which an instructor runs the service."""
