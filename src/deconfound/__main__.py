"""``python -m deconfound``."""

import sys

from deconfound.cli import main

sys.exit(main())
