"""After a run: its dataset is extended, exported, evaluated and compared, and its classifier applied."""
