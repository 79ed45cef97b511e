"""One cause a file; each registers its rule."""
