"""After a run: its dataset is exported, evaluated and compared, and its classifier applied."""
