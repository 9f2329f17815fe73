"""The queue before the model: callers in turn, batches of equal recipes, and news of each request."""
