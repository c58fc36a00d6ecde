package dunlin.broker.listen;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.Map;

/** A listener as operators see it, and open and close it, by JMX. */
@Description("A listener that clients connect to")
public interface ListenerMXBean {
  @Description("The name in dunlin.listeners.<name>")
  String getName();

  @Description("tcp, tls, ws, wss or unix")
  String getType();

  @Description("The address that clients connect to, with the port in use")
  String getAddress();

  @Description("Whether it accepts new connections")
  boolean isAccepting();

  @Description("Open connections")
  @Unit("connections")
  int getConnections();

  @Description("Connections closed before MQTT began, by reason")
  Map<String, Long> getRefused();

  @Description("When the certificate in use expires, in ISO format; empty without TLS")
  String getCertificateExpiry();

  @Description("Accepts new connections again, at the same address; does nothing when it accepts them")
  void open();

  @Description("Accepts no new connections until it is opened or the node is started again; connected clients stay")
  void close();
}
