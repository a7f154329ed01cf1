"""Suites: tables of patterns and tests that measure them."""
