"""Commands before a run: a demonstration, a file of options, prompts, a price, a look at the machine."""
