"""What tasks do once they run: it imports the Kafka clients and all of the mirror, so a DAG file, its operators and its factory import it
inside functions alone. A module for each kind of task; each is the one import that its tasks make when they begin.
"""
