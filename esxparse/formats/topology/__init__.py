"""What the host and its VMs are made of, each format a module.

`meta` of each holds what is known of these: `sockets`, `cores` and `threads` (of the whole machine), `numa_nodes`,
`mhz`, `memory_bytes`, `model`.
"""
