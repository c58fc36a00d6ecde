package dunlin.transport.trace;

import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** The client at a hop: the publisher where a message comes in, the subscriber where it goes out. */
public interface Party {
  String clientId();

  /** Where its connection comes from, also behind a proxy that says so; null when this node does not have its connection. */
  @Nullable SocketAddress address();

  /** A client of which only the client identifier is known. */
  static Party named(String clientId) {
    return new Named(clientId);
  }

  /** A client without a connection here. */
  record Named(String clientId) implements Party {
    @Override
    public @Nullable SocketAddress address() {
      return null;
    }
  }
}
