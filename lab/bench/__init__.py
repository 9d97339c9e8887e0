"""What the mirror costs, measured beside the real MirrorMaker 2. Nothing here is a test: `make bench` runs it and appends to RESULTS.md."""
