"""What is no test here: the demo course's own suites, and submissions, which we never run."""

collect_ignore = ["clock", "demo", "exploits", "ranks", "submissions"]
