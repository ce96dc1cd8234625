"""Lists in pages, for every kind: the walk from page to page, its bounds, and the end of a list."""
