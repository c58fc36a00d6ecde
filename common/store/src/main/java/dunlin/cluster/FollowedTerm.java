package dunlin.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;

/**
 * The term of the meta group's leader that this node follows: the highest that it has heard of. Actions of a lower term
 * are not carried out, and reports name the term that they were made under.
 */
final class FollowedTerm {
  /*
   * Owner: any thread, under the lock. A higher term counts only once no action of a lower one is in progress here:
   * after a report made under the new term, no action may take effect that the new leader has not decided on. Until
   * then the new leader decides nothing by this node's reports, but knows by them that it lives.
   */
  @GuardedBy("this")
  private long followed;

  @GuardedBy("this")
  private long heard;

  @GuardedBy("this")
  private int underWay;

  /** A leader has answered, with its term. */
  synchronized void heard(long leadership) {
    heard = Math.max(heard, leadership);
    if (underWay == 0) followed = heard;
  }

  /** The term for the next report. */
  synchronized long followed() {
    return followed;
  }

  /** Begins an action, or answers false when it must not be carried out now. After true, the caller must call {@link #end}. */
  synchronized boolean begin(long leadership) {
    heard(leadership);
    if (leadership != followed || leadership < heard) return false;
    underWay++;
    return true;
  }

  synchronized void end() {
    underWay--;
    if (underWay == 0) followed = heard;
  }
}
