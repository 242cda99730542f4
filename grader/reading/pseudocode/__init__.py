"""What is judged of a pseudocode, by counts that an instructor can overrule."""
