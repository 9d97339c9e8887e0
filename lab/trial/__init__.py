"""The trial of cutovers: applications that know nothing of the mirror live on two clusters, and waves move them forth and back.

`applications/` (Java) and `librdkafka_applications` are the clients, behind one protocol that `applications.py` speaks; `journal` judges
what they wrote down; `site` is the pair of clusters with its flows. `python -m lab.trial` runs the trials.
"""
