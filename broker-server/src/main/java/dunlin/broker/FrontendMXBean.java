package dunlin.broker;

import dunlin.runtime.metrics.Description;

/** What operators see of a node's frontend and do to it by JMX: {@code dunlin:type=Frontend,node=<id>}. */
@Description("The part of the node that clients connect to")
public interface FrontendMXBean {
  @Description("Open connections")
  int getConnections();

  @Description("Whether clients are being sent away and new ones refused")
  boolean isDraining();

  @Description("Sends clients to another server: those that are connected at this pace, new ones at once. The node is not ready any more")
  void drain(
      @Description("Server Reference sent to clients of MQTT 5; empty for the setting dunlin.drain.server-reference") String serverReference,
      @Description("How many are sent away in a second, at least 1") int connectionsPerSecond);

  @Description("Ends drain: clients are served again")
  void stopDrain();
}
