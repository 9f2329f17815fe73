"""One of several owners: its keys, masks, and masked answers, and the coordinator that sums the owners' answers."""
