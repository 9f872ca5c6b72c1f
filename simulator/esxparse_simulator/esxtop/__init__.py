"""What esxtop prints of a simulated host, release by release."""
