"""The steps of a planned wave but for its groups: the preflight, the copies, the write fence, the audit gate and `open`.

Each step has a file of its name; the other files ask the clusters for it, or judge what these answered.
"""
