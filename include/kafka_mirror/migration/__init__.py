"""Takes a flow over from MirrorMaker 2, and hands it back: each side goes on exactly where the other one stopped.

`take_over` and `hand_back` are the two commands; `tail_match` says how far MirrorMaker 2 came, by the end of the remote partitions.

`cutover` and every room above it may import it.
"""
