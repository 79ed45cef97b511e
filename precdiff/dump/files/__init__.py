"""Arrays as they lie in files: where their codes are, and how a piece of them is fetched without the rest.

Read stored.py (a region of a file), naming.py (what other programs call the formats), then one file a container. The
readers (dump/readers) turn these into dumps.
"""
