package dunlin.store;

import java.time.Duration;

/**
 * How far one replica has come with what it has to do: while it starts, and while it serves.
 *
 * @param step what it is at
 * @param rowsRead rows that its logic has seen at the start
 * @param entriesApplied entries of the log applied since the start
 * @param entriesLeft entries that are known to be committed and are not applied yet
 * @param led whether it has led once; of one with other peers that need never come
 * @param waiting commands that wait for the log here
 * @param oldest how long the oldest command handed to the log here has waited to be applied; zero when there is none
 */
public record RangeProgress(
    RangeId range, Step step, long rowsRead, long entriesApplied, long entriesLeft, boolean led, int waiting, Duration oldest) {

  /** What a replica does one after the other at the start. */
  public enum Step {
    /** RocksDB opens its files; its progress is unknown. */
    FILES,
    /** The logic reads its rows. */
    ROWS,
    /** Ratis reads its log, or waits for the rows of the other ranges to do so; its progress is unknown. */
    LOG,
    /** Entries of the log are applied: at the start what the rows do not have yet, and then what comes. */
    ENTRIES
  }

  /** Whether its logic has seen all rows. */
  public boolean open() {
    return step.compareTo(Step.ROWS) > 0;
  }

  /** Grows with each step forward. */
  public long moved() {
    return rowsRead + entriesApplied + (open() ? 1 : 0) + (led ? 1 : 0);
  }
}
