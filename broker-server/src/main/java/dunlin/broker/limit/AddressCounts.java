package dunlin.broker.limit;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Open connections by client address. An IPv6 address counts as its /64 network: one customer has at least a /64, and
 * could otherwise use many addresses.
 */
public final class AddressCounts {
  /*
   * Owner: any thread.
   * Bounds: an entry for each address that has a connection, so no more than connections.
   */
  /**
   * The upper bits of an IPv4 address's key, so that it differs from all IPv6 networks: as an IPv6 address these bits
   * would be a multicast group, which never connects.
   */
  private static final long IPV4 = 0xFFFF_FFFFL << 32;

  private final int max;
  private final ConcurrentHashMap<Long, Integer> connections = new ConcurrentHashMap<>();

  public AddressCounts(int max) {
    this.max = max;
  }

  /** Counts a connection, unless the address has reached its maximum. */
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

  /** Number of addresses that have connections. */
  int size() {
    return connections.size();
  }

  /** The key of an address, or of its /64 network. */
  public static long keyOf(InetAddress address) {
    byte[] bytes = address.getAddress();
    long key = address instanceof Inet6Address ? 0 : IPV4;
    int length = Math.min(bytes.length, Long.BYTES);
    for (int i = 0; i < length; i++) key |= (bytes[i] & 0xFFL) << (8 * (length - 1 - i));
    return key;
  }
}
