package dunlin.chaos;

/** The end of the ledger as a node has shown it after a read barrier that began at this time. */
record Read(long invokedNanos, long last) {}
