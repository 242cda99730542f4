"""The quick way to grade files of ours: forked, with nothing that confines them."""
