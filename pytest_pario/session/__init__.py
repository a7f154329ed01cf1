"""A pytest session of many ranks: hub, agreement, watchdog, root's voice, journal, supervisor."""
