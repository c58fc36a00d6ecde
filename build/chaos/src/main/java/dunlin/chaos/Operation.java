package dunlin.chaos;

/**
 * One write as its writer saw it; times by System.nanoTime.
 *
 * @param seen the last place that was known to be taken when it began
 */
record Operation(long id, long seen, long invokedNanos, long answeredNanos, Outcome outcome) {
  /** How it ended for the writer. */
  sealed interface Outcome {
    /** Acknowledged. */
    record Placed(long place) implements Outcome {}

    /** The leader's ledger had lost what was acknowledged before. */
    record Behind(long last) implements Outcome {}

    /** Surely not done, now or later. */
    record Refused(String why) implements Outcome {}

    /** May be done, once. */
    record Unknown(String why) implements Outcome {}
  }
}
