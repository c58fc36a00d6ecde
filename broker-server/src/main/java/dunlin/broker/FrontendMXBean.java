package dunlin.broker;

/** What operators see of a node's frontend and do to it by JMX: {@code dunlin:type=Frontend,node=<id>}. */
public interface FrontendMXBean {
  /** Open connections. */
  int getConnections();

  /** Whether clients are being sent away and new ones refused. */
  boolean isDraining();

  /**
   * Sends clients to another server: those that are connected at this pace, new ones at once. The node is not ready any more.
   *
   * @param serverReference what clients of MQTT 5 are told to use; empty for the setting {@code dunlin.drain.server-reference}
   */
  void drain(String serverReference, int connectionsPerSecond);

  /** Serves clients again. */
  void stopDrain();
}
