"""The student's side as one file that pip installs, for those who want no clone."""
