"""What to do: find topics, choose bounded ranges, notice gaps and recreated topics."""
