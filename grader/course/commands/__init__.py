"""The instructors' command line: only ``cli`` imports this, where its folder is there."""
