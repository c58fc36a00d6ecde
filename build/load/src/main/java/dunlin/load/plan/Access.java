package dunlin.load.plan;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How clients reach a broker.
 *
 * @param endpoints used in turn by the clients
 * @param tls null for none
 * @param webSocketPath null for plain MQTT
 * @param proxyHeader whether each connection begins with a header of the PROXY protocol
 * @param sources source addresses, used in turn; empty to let the system choose
 */
public record Access(List<Endpoint> endpoints, @Nullable Tls tls, @Nullable String webSocketPath, boolean proxyHeader, List<String> sources) {
  public Access {
    endpoints = List.copyOf(endpoints);
    sources = List.copyOf(sources);
    if (endpoints.isEmpty()) throw new IllegalArgumentException("there is no broker to connect to");
  }

  public static Access plain(String host, int port) {
    return new Access(List.of(new Endpoint(host, port)), null, null, false, List.of());
  }
}
