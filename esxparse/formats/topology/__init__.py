"""What the host and its VMs are made of, each format a module."""
