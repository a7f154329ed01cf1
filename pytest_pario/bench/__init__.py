"""`pario bench …`: what the harness itself costs, printed as ratios."""
