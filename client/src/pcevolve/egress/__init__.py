"""The only way out: every request passes the gate and is on record before it leaves."""
