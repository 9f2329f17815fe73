"""A page with everything that was sent, made from public records alone."""
