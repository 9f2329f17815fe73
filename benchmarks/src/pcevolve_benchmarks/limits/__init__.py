"""What a selection can do at a budget: by arithmetic, beside what was measured, as one page of figures."""
