"""A job that never ends, for the launcher's own test."""

import os
import time

from stage import tell

tell(pid=os.getpid())
time.sleep(3600)
