"""One file a metric; every module here registers itself in comparison.metric.METRICS."""
