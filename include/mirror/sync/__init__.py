"""What is kept the same on both clusters beside the records: one file for each thing."""
