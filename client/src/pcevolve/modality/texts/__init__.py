"""All that knows what a text is: how it is read, what of it is released, and which of its words become blanks."""
