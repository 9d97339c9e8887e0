"""Random faults in a row, drawn from a seed: `python -m lab.faults --seed 1 --rounds 40`.

Each round produces records, starts a copy, injects one fault at a random moment, and heals it. The next runs continue by themselves. Then
the witness counts what is lost, doubled, foreign or out of order. A bad round does not end the series: its counts are in the table.
"""
