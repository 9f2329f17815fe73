"""An owner among several: its keys, its masks, and its answers to a coordinator, which sums them."""
