"""A page with everything that left, made from public records alone."""
