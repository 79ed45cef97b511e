"""One file a standard; every module here registers itself in comparison.standard.STANDARDS."""
