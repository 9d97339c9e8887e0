"""How a person decides: looking at how things stand, binding the decision to that, and writing it into the control topic."""
