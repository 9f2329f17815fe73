"""The network of a run of several owners: the coordinator's door, and an owner's connection to it; no private files."""
