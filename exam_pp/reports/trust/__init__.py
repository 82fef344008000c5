"""Reports on panels, canaries and the gate."""
