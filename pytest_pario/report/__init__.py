"""Text, JSON and HTML made from plain data; nothing here measures."""
