"""The steps of a planned wave: the preflight, the copies, the write fence, the audit gate, the groups and `open`.

`copies` has both `catch-up` and `last-copy`, and each other step a file of its name; the other files ask the clusters for them, or judge
what these answered.
"""
