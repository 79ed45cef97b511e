"""One device a file: facts, each with its source. Files register themselves in PROFILES when discovered."""
