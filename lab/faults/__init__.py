"""Random faults in a row, drawn from a seed: `python -m lab.faults --seed 1 --rounds 40`.

Each round produces, starts a copy, injects one fault at a random moment, heals, lets the next runs go on by themselves, and has the
witness count what is lost, doubled, foreign or out of order. A bad round does not end the series: its counts stand in the table.
"""
