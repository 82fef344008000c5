"""The command line: parse, call one phase, print. One file a command, imported when it is used."""
