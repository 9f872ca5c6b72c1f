"""Data of the template `fleet`."""
