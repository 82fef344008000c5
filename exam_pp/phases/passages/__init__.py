"""Commands that rewrite passages files: merge, split, sample, filter, rename, strip."""
