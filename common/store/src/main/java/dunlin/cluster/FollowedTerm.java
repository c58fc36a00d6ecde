package dunlin.cluster;

/**
 * Which leadership of the meta group this node follows: the highest term that it has heard of. Actions of a lower one are not
 * carried out, and reports say which one they were made under.
 */
final class FollowedTerm {
  /*
   * Owner: any thread, under the lock.
   * A higher term counts only once no action of a lower one is under way here: a report made under the new term must not be
   * followed by the effect of an action that the new leader has not decided on. The new leader takes this node for silent
   * until then; an action has a deadline, so that ends.
   */
  private long followed;
  private long heard;
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

  /** Begins an action, or answers false when it is not to be carried out now. {@link #end} follows when it was true. */
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
