"""Chinese beside English: which file translates which, and whether it is still in step."""
