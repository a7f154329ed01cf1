"""Settings that suites and tests share; the plugin itself is installed, not loaded from here."""
