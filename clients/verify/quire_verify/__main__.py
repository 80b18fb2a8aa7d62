"""`python -m quire_verify FILE`."""

import sys

from quire_verify.command import main

sys.exit(main())
