"""The report on a run: one file, made from public records alone."""
