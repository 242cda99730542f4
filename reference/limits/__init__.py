"""How far right float32 arithmetic may be off: by several honest forms, and by the input."""
