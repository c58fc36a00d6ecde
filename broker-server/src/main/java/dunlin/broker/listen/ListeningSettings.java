package dunlin.broker.listen;

import java.util.List;

/**
 * Where clients connect to, and how their sockets are used.
 *
 * @param listeners where clients connect to
 * @param transport how event loops wait for sockets
 * @param outboundMax bytes that may wait for a socket before QoS 0 messages to it are dropped
 */
public record ListeningSettings(List<ListenerSettings> listeners, IoTransport transport, int outboundMax) {
  public ListeningSettings {
    listeners = List.copyOf(listeners);
  }
}
