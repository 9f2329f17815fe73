"""Commands, library and launcher: they put the other zones together, and decide nothing."""
