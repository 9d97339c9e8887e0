"""What a run did, in words and numbers: publishing from the ledger, the verdict, the pools it needs."""
