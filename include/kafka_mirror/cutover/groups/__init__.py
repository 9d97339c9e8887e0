"""The consumer groups of a wave: what the clusters show of them, what keeps them from moving, and where they are put."""
