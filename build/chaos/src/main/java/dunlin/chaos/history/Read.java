package dunlin.chaos.history;

/** The end of the ledger as read from a node after a barrier that began at this time. */
public record Read(long invokedNanos, long last) {}
