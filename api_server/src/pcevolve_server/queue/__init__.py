"""The queue in front of the model: callers take turns, and equal recipes share batches."""
