"""A run as all its processes know it: its folders, its options, its progress."""
