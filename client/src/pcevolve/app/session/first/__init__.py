"""Before a run: the demonstration, a look at a private folder, a file of options, prompts, and a price."""
