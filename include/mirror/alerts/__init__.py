"""What people on call are told: which problems a flow has, which of them are new or over, and how that is sent."""
