package dunlin.broker.listen;

import dunlin.runtime.metrics.Description;
import java.util.Map;

/** A listener as operators see it by JMX. */
@Description("A listener that clients connect to")
public interface ListenerMXBean {
  @Description("The name in dunlin.listeners.<name>")
  String getName();

  @Description("tcp, tls, ws, wss or unix")
  String getType();

  @Description("The address that clients connect to, with the port in use")
  String getAddress();

  @Description("Open connections")
  int getConnections();

  @Description("Connections closed before MQTT began, by reason")
  Map<String, Long> getRefused();

  @Description("When the certificate in use expires, in ISO format; empty without TLS")
  String getCertificateExpiry();
}
