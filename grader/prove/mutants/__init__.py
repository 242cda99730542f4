"""Every small change of a model answer that is another program, and which of them live."""
