"""Hardware of the host and its VMs, one module per format.

`meta` of each has the known ones of these facts: `sockets`, `cores` and `threads` (of the whole machine), `numa_nodes`,
`mhz`, `memory_bytes`, `model`.
"""
