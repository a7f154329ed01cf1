"""What is known of the place of a run: one collector of facts per concern, and one table of all facts."""
