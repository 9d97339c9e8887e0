"""The commands of `python -m mirror`, one file each: what it takes, what it does for a flow, and the words that it prints."""
