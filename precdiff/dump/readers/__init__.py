"""One reader a file; each registers itself in READERS (dump/reader.py)."""
