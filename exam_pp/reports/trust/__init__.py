"""Reports on canaries, and on a new version of a system."""
