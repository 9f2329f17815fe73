"""The page about a run that a person looks at: one file, made from public records alone."""
