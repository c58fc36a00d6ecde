package dunlin.chaos;

/** The end of the ledger as read from a node after a barrier that began at this time. */
record Read(long invokedNanos, long last) {}
