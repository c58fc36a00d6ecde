package dunlin.broker.users;

import dunlin.broker.limit.AddressRange;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Who may not connect. */
final class Bans {
  /*
   * Immutable. A question looks an address up once for each length of a prefix that any ban has, however many bans there are.
   */
  private final Map<String, AccessEntry.Ban> clients = new HashMap<>();
  private final Map<String, AccessEntry.Ban> users = new HashMap<>();

  /** By the number of bits, with an index of the networks' first bits. */
  private final Map<Integer, Map<Bits, AccessEntry.Ban>> networks = new HashMap<>();

  /** The first bits of an address; all others are zero. */
  private record Bits(byte[] address) {
    static Bits of(byte[] address, int bits) {
      return new Bits(firstBits(address, bits));
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Bits(var its) && Arrays.equals(address, its);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(address);
    }
  }

  /** An address with its first bits alone; all others are zero. */
  static byte[] firstBits(byte[] address, int bits) {
    byte[] first = new byte[address.length];
    for (int i = 0; 8 * i < bits; i++) {
      int rest = Math.min(8, bits - 8 * i);
      first[i] = (byte) (address[i] & (0xFF << (8 - rest)));
    }
    return first;
  }

  Bans(Collection<AccessEntry.Ban> all) {
    for (AccessEntry.Ban ban : all) {
      switch (ban.kind()) {
        case BANNED_CLIENT -> clients.put(ban.value(), ban);
        case BANNED_USER -> users.put(ban.value(), ban);
        case BANNED_ADDRESS ->
            AddressRange.parse(ban.value())
                .ifPresent(network -> networks.computeIfAbsent(network.bits(), _ -> new HashMap<>()).put(Bits.of(network.address(), network.bits()), ban));
        case USER, ROLE, TENANT -> throw new IllegalArgumentException("no ban: " + ban.kind());
      }
    }
  }

  /** The ban that a client falls under; an empty client identifier or user name is none. */
  Optional<AccessEntry.Ban> find(String clientId, String user, SocketAddress address, long nowMillis) {
    var ofClient = clients.get(clientId);
    if (ofClient != null && !ofClient.hasEnded(nowMillis)) return Optional.of(ofClient);
    var ofUser = users.get(user);
    if (ofUser != null && !ofUser.hasEnded(nowMillis)) return Optional.of(ofUser);
    if (networks.isEmpty() || !(address instanceof InetSocketAddress internet)) return Optional.empty();
    InetAddress from = internet.getAddress();
    return from == null ? Optional.empty() : ofAddress(from.getAddress(), nowMillis);
  }

  private Optional<AccessEntry.Ban> ofAddress(byte[] address, long nowMillis) {
    for (Map.Entry<Integer, Map<Bits, AccessEntry.Ban>> length : networks.entrySet()) {
      if (length.getKey() > 8 * address.length) continue;
      var ban = length.getValue().get(Bits.of(address, length.getKey()));
      if (ban != null && !ban.hasEnded(nowMillis)) return Optional.of(ban);
    }
    return Optional.empty();
  }
}
