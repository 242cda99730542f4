"""Files of a lab and of a student, read and taken apart, and pictures of a lab."""
