package dunlin.broker.listen;

import java.util.Locale;

/** Why a listener closed a connection before MQTT began. */
enum ListenerRefusal {
  /** The listener has its maximum number of connections. */
  CONNECTIONS,
  /** The client's address has its maximum number of connections. */
  ADDRESS,
  /** The connect rate is exceeded. */
  RATE,
  /** The process has as many connections as its file descriptors allow. */
  PROCESS,
  /** The operating system could not accept a connection, usually because there are no file descriptors left. */
  ACCEPT,
  /** The connection does not come from a trusted proxy. */
  PROXY_ADDRESS,
  /** The PROXY protocol header is missing or invalid. */
  PROXY_HEADER,
  /** The TLS handshake failed or took too long. */
  TLS_HANDSHAKE,
  /** There are too many TLS handshakes at once, in all or from the client's address. */
  TLS_HANDSHAKES,
  /** The client's certificate, or one that it depends on, is revoked. */
  CERTIFICATE_REVOKED,
  /** The responder has not said whether the client's certificate is good. */
  CERTIFICATE_UNCHECKED,
  /** The HTTP request does not open a WebSocket. */
  HTTP_REQUEST,
  /** A WebSocket frame violates the protocol or has text. */
  WEB_SOCKET_FRAME;

  /** The name in metrics and JMX. */
  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
