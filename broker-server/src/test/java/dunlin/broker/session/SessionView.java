package dunlin.broker.session;

/** What tests of other packages look at in a live session; on its loop. */
public final class SessionView {
  private SessionView() {}

  /** Messages of QoS 1 and 2 that it has taken and that its client has not acknowledged. */
  public static int taken(LiveSession session) {
    return session.outbound().inFlight() + session.outbound().queued();
  }

  /** Those of them that wait. */
  public static int queued(LiveSession session) {
    return session.outbound().queued();
  }

  /** Its owner epoch. */
  public static long epoch(LiveSession session) {
    return session.epoch();
  }

  /** Has it say how much waits for its client, as it does at the end of a round. */
  public static void updateLoad(LiveSession session) {
    session.updateLoad();
  }
}
