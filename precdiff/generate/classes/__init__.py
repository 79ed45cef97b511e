"""The data classes, a file each; a row is a function. See precdiff/generate/cases.py."""
