"""The trial of cutovers: applications that know nothing of the mirror live on two clusters, and waves move them back and forth.

`applications/` (Java) and `librdkafka_applications` are the clients, which answer to `applications.py` in one protocol. `journal` judges
what they wrote down. `site` is the pair of clusters with its flows. `python -m lab.trial` runs the trials.
"""
