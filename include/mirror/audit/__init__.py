"""The proof that a copy is complete: both sides read, counted, digested and compared; or the first difference by name."""
