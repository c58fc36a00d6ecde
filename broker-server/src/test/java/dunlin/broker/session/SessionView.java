package dunlin.broker.session;

/** Access to a live session for tests of other packages; on its loop. */
public final class SessionView {
  private SessionView() {}

  /** Number of QoS 1 and 2 messages that it has taken and that its client has not acknowledged. */
  public static int taken(LiveSession session) {
    return session.outbound().inFlight() + session.outbound().queued();
  }

  /** Number of those messages that wait. */
  public static int queued(LiveSession session) {
    return session.outbound().queued();
  }

  /** Its owner epoch. */
  public static long epoch(LiveSession session) {
    return session.epoch();
  }

  /** Makes it publish its load, as at the end of a round. */
  public static void updateLoad(LiveSession session) {
    session.updateLoad();
  }
}
