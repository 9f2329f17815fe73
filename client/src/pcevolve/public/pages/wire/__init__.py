"""A page on which a person can scroll through everything that left, made from public records alone."""
