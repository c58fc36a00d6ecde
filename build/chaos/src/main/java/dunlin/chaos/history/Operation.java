package dunlin.chaos.history;

/**
 * One write as seen by its writer; times by System.nanoTime.
 *
 * @param seen the last place that was known to be taken when it began
 */
public record Operation(long id, long seen, long invokedNanos, long answeredNanos, Outcome outcome) {
  /** Its outcome for the writer. */
  public sealed interface Outcome {
    /** Acknowledged. */
    record Placed(long place) implements Outcome {}

    /** The leader's ledger had lost acknowledged writes. */
    record Behind(long last) implements Outcome {}

    /** Surely not done, now or later. */
    record Refused(String why) implements Outcome {}

    /** May be done, at most once. */
    record Unknown(String why) implements Outcome {}
  }
}
