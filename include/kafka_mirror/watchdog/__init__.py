"""A process beside this one that ends it when it hangs in C code, where no timeout of Python works.

`watch` is for code that works with a Kafka client; `process` is the program that watches. It knows nothing of the mirror.

`formats`, `policy`, `logins` and every room above them may import it.
"""
