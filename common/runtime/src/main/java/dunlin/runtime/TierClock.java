package dunlin.runtime;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The time by which sessions, wills and messages end: milliseconds since 1970 that pass as the monotonic clock passes. Within a life of the
 * process no step of the wall clock moves it. The wall clock only tells how long the process was away.
 */
public final class TierClock implements InstantSource {
  /*
   * Owner: any thread reads; the node starts it once, and its housekeeping compares the clocks.
   *
   * At a start the time goes on from what was noted last, and the time away counts by the wall clock, whose distance to this clock was
   * noted as well: a wall clock that was wrong all along, or was put right in an earlier life, does no harm. A wall clock that lies behind what was noted
   * tells nothing yet, and of one that lies far ahead only DOWNTIME_MAX counts at once. Both are believed when they have gone on
   * for STEADY without a step: then the rest counts.
   *
   * Bounds: no early end by more than the longest downtime that counts at once, and that only after a start with a wrong clock; no late
   *   one by more than the time that the process was away, which is made good STEADY after the wall clock is right.
   * Failure: a machine that sleeps does not count its sleep before the next start.
   */
  private static final Logger log = LoggerFactory.getLogger(TierClock.class);
  static final Duration STEADY = Duration.ofMinutes(10);

  /** By how much the wall clock may drift from the monotonic one between two looks; more is a step. */
  private static final long STEP_MILLIS = 1_000;

  private final InstantSource wall;
  private final LongSupplier nanoTime;
  private final long nanosAtStart;
  private final long downtimeMaxMillis;

  /** What is added to the time since the start; written under this object's lock. */
  private volatile long offset;

  /** Wall clock minus time since the start, as last looked at. */
  private long wallOffset;

  private long steadySince;

  /** How far the wall clock was ahead of this one before the process was away. */
  private long noted;

  /** Whether the wall clock is still to tell how long the process was away. */
  private boolean doubtful;

  /**
   * @param nanoTime the monotonic clock
   * @param downtimeMax how much of the time that the process was away counts before the wall clock has proved steady
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

  /** Milliseconds since this life began. */
  private long passed() {
    return TimeUnit.NANOSECONDS.toMillis(nanoTime.getAsLong() - nanosAtStart);
  }

  /**
   * Goes on from where an earlier life was. Once, before anything is timed by this clock.
   *
   * @param time of the latest that is known to have happened
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
          "The wall clock is {} s ahead of the last time noted: {} s count now, what it says counts when it has been steady for {} s",
          away / 1_000, Math.clamp(away, 0, downtimeMaxMillis) / 1_000, STEADY.toSeconds());
    }
  }

  /** How far the wall clock says that this clock is behind, at an offset. */
  private long away(long at) {
    return wallOffset - noted - at;
  }

  /** How far the wall clock is ahead of this clock. */
  public synchronized long wallAhead() {
    return doubtful ? noted : wallOffset - offset;
  }

  /** Looks at the wall clock; some times a second. Answers whether {@link #wallAhead} has changed by a step. */
  public synchronized boolean check() {
    long passed = passed();
    boolean stepped = look(passed);
    if (!doubtful) return stepped;
    if (passed - steadySince < STEADY.toMillis()) return false;
    doubtful = false;
    long away = away(offset);
    if (away > 0) {
      offset += away;
      log.info("The wall clock has been steady for {} s: {} s more count as time that the node was away", STEADY.toSeconds(), away / 1_000);
    }
    return true;
  }

  private boolean look(long passed) {
    long now = wall.millis() - passed;
    long step = now - wallOffset;
    wallOffset = now;
    if (Math.abs(step) <= STEP_MILLIS) return false;
    steadySince = passed;
    log.warn("The wall clock was moved by {} ms; sessions and messages are not concerned", step);
    return true;
  }
}
