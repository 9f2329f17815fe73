"""The queue before the model: callers take turns, and equal recipes share batches."""
