"""Commands, library and launcher; they connect the other zones, and decide nothing."""
