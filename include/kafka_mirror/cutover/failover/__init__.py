"""A wave whose source is lost: its steps ask the target alone. A source that comes back is compared, and what only it has is exported."""
