"""After a run: export, evaluate and compare its dataset, and apply its classifier."""
