"""Power readings of BMCs and meters, each format a module."""
