"""Phases: functions from files to results, one or more for each command."""
