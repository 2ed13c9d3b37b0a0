"""`python -m edgewise` is the command `edgewise`."""

import sys

from edgewise.cli import main

sys.exit(main())
