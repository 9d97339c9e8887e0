"""Scenarios on clusters of their own, which all files here share."""
