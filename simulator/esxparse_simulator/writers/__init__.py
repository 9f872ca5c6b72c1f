"""Writers of what the other tools print: one module for each tool, pure functions from results to text."""
