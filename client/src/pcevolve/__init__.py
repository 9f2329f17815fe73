"""The client: private data stay here; only paid-for DP releases leave."""
