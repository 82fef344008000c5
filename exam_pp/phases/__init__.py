"""What each command does, callable from Python."""
