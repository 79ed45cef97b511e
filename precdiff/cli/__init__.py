"""The command line: one file a command, found by its name. Commands parse, call precdiff.api and print."""
