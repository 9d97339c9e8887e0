"""How one lane is copied: fence, read the ledger, check the target, then transaction after transaction."""
