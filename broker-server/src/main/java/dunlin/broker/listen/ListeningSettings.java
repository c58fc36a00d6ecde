package dunlin.broker.listen;

import java.util.List;

/**
 * Listeners and sockets.
 *
 * @param listeners the listeners
 * @param transport the I/O mechanism of the event loops
 * @param outboundMax bytes that may wait for a socket before QoS 0 messages to it are dropped
 */
public record ListeningSettings(List<ListenerSettings> listeners, IoTransport transport, int outboundMax) {
  public ListeningSettings {
    listeners = List.copyOf(listeners);
  }
}
