"""`python -m pytest_pario.cli`."""

import sys

from pytest_pario.cli import main

sys.exit(main())
