"""What is known of a flow on its target."""
