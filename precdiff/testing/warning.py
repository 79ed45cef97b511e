"""The warning of a loss inside the tolerance, in a file of its own: filters name it before anything else is loaded."""


class AccuracyLossWarning(UserWarning):
    """A figure got worse than the baseline keeps it, by less than fails the test."""
