"""numba twins of hot functions; imported by the array-level choosers only, and by nothing where PRECDIFF_ACCEL=0."""
