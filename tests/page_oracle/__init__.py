"""What a finished page must show, computed from raw files without esxparse: the standard library, and `absolute`."""
