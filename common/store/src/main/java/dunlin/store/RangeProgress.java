package dunlin.store;

import java.time.Duration;

/**
 * The progress of one replica, while it starts and while it serves.
 *
 * @param step the current step
 * @param rowsRead rows that its logic has read at the start
 * @param entriesApplied entries of the log applied since the start
 * @param entriesLeft entries known to be committed and not applied yet
 * @param led whether it has ever led; a replica with peers may never lead
 * @param waiting commands that wait for the log here
 * @param oldest how long the oldest command handed to the log here has waited to be applied; zero when there is none
 */
public record RangeProgress(
    RangeId range, Step step, long rowsRead, long entriesApplied, long entriesLeft, boolean led, int waiting, Duration oldest) {

  /** The steps of a replica's start, in order. */
  public enum Step {
    /** RocksDB opens its files; its progress is unknown. */
    FILES,
    /** The logic reads its rows. */
    ROWS,
    /** Ratis reads its log, or waits until the other ranges have read their rows; its progress is unknown. */
    LOG,
    /** Entries of the log are applied: first those that the rows lack, then new ones. */
    ENTRIES
  }

  /** Whether its logic has seen all rows. */
  public boolean open() {
    return step.compareTo(Step.ROWS) > 0;
  }

  /** A counter that grows whenever there is progress. */
  public long moved() {
    return rowsRead + entriesApplied + (open() ? 1 : 0) + (led ? 1 : 0);
  }
}
