package dunlin.store;

import static java.util.Objects.requireNonNull;

import java.util.UUID;

/**
 * A node and its Raft address.
 *
 * @param host a name rather than an address where there is one: it is kept in the log, and outlives the address
 * @param port 0 for a node without peers, which no other can reach
 */
public record Member(UUID node, String host, int port) {
  public Member {
    requireNonNull(node);
    if (host.isBlank() || host.chars().anyMatch(c -> c <= ' ' || c == '/' || c == '@'))
      throw new IllegalArgumentException("host of node " + node + " is '" + host + "'");
    if (port < 0 || port > 65_535) throw new IllegalArgumentException("port of node " + node + " is " + port);
  }

  public String address() {
    return host.indexOf(':') >= 0 ? "[" + host + "]:" + port : host + ":" + port;
  }

  /** The reverse of {@link #address}. */
  public static Member of(UUID node, String address) {
    int colon = address.lastIndexOf(':');
    if (colon < 0) throw new IllegalArgumentException("address of node " + node + " is '" + address + "'");
    String host = address.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) host = host.substring(1, host.length() - 1);
    return new Member(node, host, Integer.parseInt(address.substring(colon + 1)));
  }
}
