package dunlin.broker.limit;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Open connections by client address. An IPv6 address stands for its /64: that is what one customer has at least, so that one
 * who changes the rest does not become many.
 */
public final class AddressCounts {
  /*
   * Owner: any thread.
   * Bounds: an entry for each address that has a connection, so never more than there are connections.
   */
  /** Before an IPv4 address, so that none is an IPv6 network: these bits would be a multicast group, which sends nothing. */
  private static final long IPV4 = 0xFFFF_FFFFL << 32;

  private final int max;
  private final ConcurrentHashMap<Long, Integer> connections = new ConcurrentHashMap<>();

  public AddressCounts(int max) {
    this.max = max;
  }

  /** Counts one more, unless the address has as many as it may. */
  public boolean add(InetAddress address) {
    boolean[] added = {false};
    connections.compute(
        keyOf(address),
        (_, now) -> {
          added[0] = now == null || now < max;
          if (!added[0]) return now;
          return now == null ? 1 : now + 1;
        });
    return added[0];
  }

  public void remove(InetAddress address) {
    connections.computeIfPresent(keyOf(address), (_, now) -> now == 1 ? null : now - 1);
  }

  /** Addresses that have connections. */
  int size() {
    return connections.size();
  }

  /** The address, or the /64 that it stands for. */
  public static long keyOf(InetAddress address) {
    byte[] bytes = address.getAddress();
    long key = address instanceof Inet6Address ? 0 : IPV4;
    int length = Math.min(bytes.length, Long.BYTES);
    for (int i = 0; i < length; i++) key |= (bytes[i] & 0xFFL) << (8 * (length - 1 - i));
    return key;
  }
}
