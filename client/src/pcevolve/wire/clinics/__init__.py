"""The network of a run of several owners: the coordinator's server and an owner's connection; no private files."""
