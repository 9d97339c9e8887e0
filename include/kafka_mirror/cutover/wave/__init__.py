"""A wave while it runs: what moves together, the steps in their order, who runs them, and what the control topic keeps of it.

`run` has the steps, opens the clusters and runs a wave; `runner` runs the steps in order or takes them back. A step works on a
`move`, and answers as `step` has it, with what it found out. The notes of a run are kept by `control_notes` as a `record`; `report` is
made of that.
"""
