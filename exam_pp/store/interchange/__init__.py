"""Files of other tools, one module a tool."""
