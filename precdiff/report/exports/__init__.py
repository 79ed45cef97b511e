"""A report for other programs: JUnit XML, Markdown, CSV, GitHub annotations. The same rows, sentences and numbers.

Names in a report come out of files and kernels of strangers. ../printable.py makes any text one harmless line; each
format's file then escapes it by the rules of whoever reads it.
"""
