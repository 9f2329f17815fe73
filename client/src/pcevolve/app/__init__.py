"""Commands, library and launcher. They connect the other zones, and decide nothing about a run."""
