"""The room of the template `fleet`."""
