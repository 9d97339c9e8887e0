"""The bytes that persist in users' clusters: each format is written and read in one file."""
