"""`python -m esxparse`."""

import sys

from esxparse.cli import main

sys.exit(main())
