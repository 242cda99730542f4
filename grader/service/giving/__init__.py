"""Reports are given back: into a student's repository, by mail, by a secret address."""
