"""Commands of tournaments between the answers of systems."""
