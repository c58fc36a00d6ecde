package dunlin.broker.listen;

import dunlin.broker.tls.HandshakeSettings;
import java.util.List;

/**
 * Listeners and sockets.
 *
 * @param listeners the listeners
 * @param transport the I/O mechanism of the event loops
 * @param outboundMax bytes that may wait for a socket before QoS 0 messages to it are dropped
 * @param handshakes bounds on TLS handshakes
 */
public record ListeningSettings(List<ListenerSettings> listeners, IoTransport transport, int outboundMax, HandshakeSettings handshakes) {
  public ListeningSettings {
    listeners = List.copyOf(listeners);
  }

  /** With the usual bounds on handshakes. */
  public ListeningSettings(List<ListenerSettings> listeners, IoTransport transport, int outboundMax) {
    this(listeners, transport, outboundMax, HandshakeSettings.defaults());
  }
}
