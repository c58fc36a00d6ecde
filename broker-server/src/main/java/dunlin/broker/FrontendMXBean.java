package dunlin.broker;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;

/** A node's frontend as operators see and change it by JMX: {@code dunlin:type=Frontend,node=<id>}. */
@Description("The part of the node that clients connect to")
public interface FrontendMXBean {
  @Description("Open connections")
  @Unit("connections")
  int getConnections();

  @Description("Whether clients are being disconnected and new ones refused")
  boolean isDraining();

  @Description("Sends clients to another server: connected clients at this pace, new ones at once. The node becomes not ready")
  void drain(
      @Description("Server Reference sent to clients of MQTT 5; empty for the setting dunlin.drain.server-reference") String serverReference,
      @Description("Number of clients to disconnect per second, at least 1") @Unit("clients per second") int connectionsPerSecond);

  @Description("Ends a drain: clients are served again")
  void stopDrain();
}
