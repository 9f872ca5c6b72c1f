"""Timelines: tasks and events with times become phases with durations and waits, beside captures of hosts."""
