"""The queue before the model: callers take turns, equal recipes share batches."""
