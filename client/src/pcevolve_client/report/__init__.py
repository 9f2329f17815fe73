"""The page about a run that a person looks at."""
