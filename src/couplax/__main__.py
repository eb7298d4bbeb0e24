"""`python -m couplax`: the command line."""

import sys

from couplax.cli import main

sys.exit(main())
