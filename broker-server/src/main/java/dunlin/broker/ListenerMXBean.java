package dunlin.broker;

import java.util.Map;

/** A listener as operators see it by JMX. */
public interface ListenerMXBean {
  String getName();

  /** tcp, tls, ws, wss or unix. */
  String getType();

  /** Where clients connect to, with the port in use. */
  String getAddress();

  /** Open connections. */
  int getConnections();

  /** Connections closed before MQTT began, by reason. */
  Map<String, Long> getRefused();

  /** When the certificate in use expires, in ISO format; empty without TLS. */
  String getCertificateExpiry();
}
