"""esxtop's names of worlds and virtual disks, which separate vCPUs from helpers, and VMs from groups of services.

Source: instance names of ESXi 6.5 and 6.0 captures; `vcpu-N:` and `vmm` worlds of ESX 3.5 and 4 from VMware's
"Interpreting esxtop Statistics" (assumed, no such capture was at hand).
"""

from __future__ import annotations

VCPU_WORLD = r"^(?:vmx-)?vcpu-(?P<vcpu>\d+)(?::|$)"
"""World that runs a guest's virtual CPU: `vmx-vcpu-0:NAME`, on ESX 3.5 and 4 `vcpu-0:NAME`."""

IDLE_WORLD = r"^idle\d+$"
"""World that a physical CPU runs when it is idle."""

DISK_OF_VM = r"^(?P<vm>.*):(?P<disk>(?:scsi|ide|sata|nvme)\d+:\d+)$"
"""Instance of Virtual Disk that is one disk; without a match it is the VM's own roll-up row."""
