package dunlin.broker.listen;

import java.util.Locale;

/** Why a listener closed a connection before MQTT began. */
enum ListenerRefusal {
  /** The listener has as many connections as it may. */
  CONNECTIONS,
  /** The client's address has. */
  ADDRESS,
  /** More came in a second than may. */
  RATE,
  /** The process has as many as its file descriptors allow. */
  PROCESS,
  /** The operating system could not give a connection, mostly for want of file descriptors. */
  ACCEPT,
  /** A proxy that is not one of ours. */
  PROXY_ADDRESS,
  /** No PROXY protocol header, or a wrong one. */
  PROXY_HEADER,
  /** The TLS handshake failed or took too long. */
  TLS_HANDSHAKE,
  /** An HTTP request that does not become a WebSocket. */
  HTTP_REQUEST,
  /** A WebSocket frame that breaks the protocol, or has text. */
  WEB_SOCKET_FRAME;

  /** As it stands in metrics and JMX. */
  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
