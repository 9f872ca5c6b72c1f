"""Right-sizing: what VMs use of the vCPUs and the memory they were given, and sizes that would be enough."""
