"""Lists of students as other programs export them, read into a roster of ours."""
