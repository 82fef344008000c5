"""Results to reports and published layouts: pure functions, in rooms named like those of phases."""
