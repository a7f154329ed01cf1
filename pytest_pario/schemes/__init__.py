"""Plans of collective I/O schemes, pure: who touches which bytes of the file, in which order.

Two-phase, data shipping and resonant I/O differ only in the map from file blocks to agents (`partition`); what is
special to each stands in a file of its own. The strategies carry these plans out, the simulation prices them.
"""
