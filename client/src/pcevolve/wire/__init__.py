"""What has the network, and never private data: the gate, the dialects, and the process of a run that uses them."""
