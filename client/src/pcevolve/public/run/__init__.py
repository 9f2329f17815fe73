"""The parts of a run that all its processes share: its folders, its options and its progress."""
