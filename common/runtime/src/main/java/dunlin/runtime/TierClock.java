package dunlin.runtime;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The clock for the expiry of sessions, wills and messages: milliseconds since 1970 that advance with the monotonic
 * clock. Steps of the wall clock do not affect it while the process runs. The wall clock only determines how long the
 * process was down.
 */
public final class TierClock implements InstantSource {
  /*
   * Owner: any thread reads; the node starts it once, and the housekeeping compares the clocks.
   *
   * At a start the time continues from the last note, and the downtime is measured by the wall clock, whose distance to
   * this clock was noted as well: a wall clock that was always wrong, or was corrected in an earlier run, does no harm.
   * If the wall clock is behind the note, no downtime counts yet; if it is far ahead, only DOWNTIME_MAX counts at once.
   * When the wall clock has then run for STEADY without a step, the rest counts.
   *
   * Bounds: nothing ends earlier than it should by more than DOWNTIME_MAX, and that only after a start with a wrong
   * clock; nothing ends later by more than the downtime, which is corrected STEADY after the wall clock is right.
   * Failure: the sleep of a machine does not count before the next start.
   */
  private static final Logger log = LoggerFactory.getLogger(TierClock.class);
  static final Duration STEADY = Duration.ofMinutes(10);

  /** The most that the wall clock may drift from the monotonic one between two looks; more is a step. */
  private static final long STEP_MILLIS = 1_000;

  private final InstantSource wall;
  private final LongSupplier nanoTime;
  private final long nanosAtStart;
  private final long downtimeMaxMillis;

  /** Added to the time since the start; written under this object's lock. */
  private volatile long offset;

  /** The wall clock minus the time since the start, at the last look. */
  @GuardedBy("this")
  private long wallOffset;

  @GuardedBy("this")
  private long steadySince;

  /** How far the wall clock was ahead of this clock before the downtime. */
  @GuardedBy("this")
  private long noted;

  /** Whether the downtime is still to be confirmed by a steady wall clock. */
  @GuardedBy("this")
  private boolean doubtful;

  /**
   * @param nanoTime the monotonic clock
   * @param downtimeMax how much of the downtime counts before the wall clock has proved steady
   */
  public TierClock(InstantSource wall, LongSupplier nanoTime, Duration downtimeMax) {
    this.wall = wall;
    this.nanoTime = nanoTime;
    this.downtimeMaxMillis = downtimeMax.toMillis();
    nanosAtStart = nanoTime.getAsLong();
    offset = wall.millis();
    wallOffset = offset;
  }

  @Override
  public long millis() {
    return offset + passed();
  }

  @Override
  public Instant instant() {
    return Instant.ofEpochMilli(millis());
  }

  /** Milliseconds since the start of the process. */
  private long passed() {
    return TimeUnit.NANOSECONDS.toMillis(nanoTime.getAsLong() - nanosAtStart);
  }

  /**
   * Continues from an earlier run. Called once, before the clock is used.
   *
   * @param time the last time noted by the earlier run
   * @param wallAhead how far the wall clock was {@linkplain #wallAhead ahead} of this clock then
   */
  public synchronized void goOn(long time, long wallAhead) {
    long passed = passed();
    look(passed);
    noted = wallAhead;
    long away = away(time - passed);
    doubtful = away < 0 || away > downtimeMaxMillis;
    offset = time - passed + Math.clamp(away, 0, downtimeMaxMillis);
    if (doubtful) {
      log.warn(
          "The wall clock is {} s ahead of the last time noted: {} s count now, the rest counts when the clock has been steady for {} s",
          away / 1_000, Math.clamp(away, 0, downtimeMaxMillis) / 1_000, STEADY.toSeconds());
    }
  }

  /** The downtime that is not counted yet, by the wall clock, at an offset. */
  @GuardedBy("this")
  private long away(long at) {
    return wallOffset - noted - at;
  }

  /** How far the wall clock is ahead of this clock. */
  public synchronized long wallAhead() {
    return doubtful ? noted : wallOffset - offset;
  }

  /** Checks the wall clock; called several times a second. Returns whether {@link #wallAhead} has changed by a step. */
  public synchronized boolean check() {
    long passed = passed();
    boolean stepped = look(passed);
    if (!doubtful) return stepped;
    if (passed - steadySince < STEADY.toMillis()) return false;
    doubtful = false;
    long away = away(offset);
    if (away > 0) {
      offset += away;
      log.info("The wall clock has been steady for {} s: {} s more count as downtime", STEADY.toSeconds(), away / 1_000);
    }
    return true;
  }

  @GuardedBy("this")
  private boolean look(long passed) {
    long now = wall.millis() - passed;
    long step = now - wallOffset;
    wallOffset = now;
    if (Math.abs(step) <= STEP_MILLIS) return false;
    steadySince = passed;
    log.warn("The wall clock was moved by {} ms; sessions and messages are not affected", step);
    return true;
  }
}
