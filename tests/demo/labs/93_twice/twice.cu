// The same for a GPU.
