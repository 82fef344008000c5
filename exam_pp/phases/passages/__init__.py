"""Writing passages files from passages files: merge, split, sample, filter, rename, strip."""
