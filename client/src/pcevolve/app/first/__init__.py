"""Commands before a run: demo, init, prompts, budget plan and doctor."""
