package dunlin.broker.guard;

import dunlin.broker.limit.AddressCounts;
import dunlin.broker.limit.AddressRange;
import dunlin.runtime.EventLine;
import dunlin.runtime.LineLimit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Blocks addresses from which too many authentications fail, and clients that connect too often; each block ends by itself. A user name is
 * never blocked: to keep its owner out, a stranger would only have to send wrong passwords for it. An event says that it is guessed at.
 */
public final class Guard {
  /*
   * Owner: any thread, including event loops; nothing here waits.
   * Bounds: those of Tallies and Blocks, for each kind. Log lines: LINES_A_SECOND for each event.
   * Failure: none; the counts and blocks of a node are lost when it ends.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.audit");
  private static final int LINES_A_SECOND = 5;

  /** The memory of a tally with its key and its entry in the table, without the characters; that of a client has two addresses. */
  static final int ADDRESS_BYTES = 160;
  static final int USER_BYTES = 208;
  static final int CLIENT_BYTES = 512;

  private static final int NETWORK_BYTES = 8;
  private static final int NETWORK_BITS = 8 * NETWORK_BYTES;

  private final GuardSettings settings;
  private final InstantSource wall;
  private final Tallies<Long, AtomicInteger> failures;
  private final Tallies<String, AtomicInteger> guesses;
  private final Tallies<ClientKey, Connects> connects;
  private final Blocks<Long> addresses;
  private final Blocks<ClientKey> clients;
  private final LineLimit addressLines;
  private final LineLimit clientLines;
  private final LineLimit userLines;
  private final Counter addressesBlocked;
  private final Counter clientsBlocked;
  private final Counter usersGuessed;

  /** Client identifiers of different tenants are different clients. */
  private record ClientKey(String tenant, String clientId) implements Comparable<ClientKey> {
    /** Clients may choose identifiers with the same hash code; with an order, a hash table finds them as fast as others. */
    @Override
    public int compareTo(ClientKey other) {
      int byClient = clientId.compareTo(other.clientId);
      return byClient != 0 ? byClient : tenant.compareTo(other.tenant);
    }
  }

  /**
   * @param wall for operators only
   * @param nanoTime a clock that never steps, in nanoseconds
   */
  public Guard(GuardSettings settings, InstantSource wall, LongSupplier nanoTime, MeterRegistry meters) {
    this.settings = settings;
    this.wall = wall;
    failures = new Tallies<>(settings.failures().window(), ADDRESS_BYTES, _ -> 0, AtomicInteger::new, nanoTime);
    guesses = new Tallies<>(settings.failures().window(), USER_BYTES, String::length, AtomicInteger::new, nanoTime);
    connects = new Tallies<>(settings.connects().window(), CLIENT_BYTES, key -> key.tenant().length() + key.clientId().length(), Connects::new, nanoTime);
    addresses = new Blocks<>(settings.failures().block(), nanoTime);
    clients = new Blocks<>(settings.connects().block(), nanoTime);
    addressLines = new LineLimit(LINES_A_SECOND, nanoTime);
    clientLines = new LineLimit(LINES_A_SECOND, nanoTime);
    userLines = new LineLimit(LINES_A_SECOND, nanoTime);
    addressesBlocked = blocked(BlockKind.ADDRESS, addresses, meters);
    clientsBlocked = blocked(BlockKind.CLIENT, clients, meters);
    usersGuessed =
        Counter.builder("dunlin.auth.guessed-users")
            .description("User names with which more authentications failed in a window than dunlin.auth.user-failures-alert says")
            .register(meters);
    Gauge.builder("dunlin.auth.failures.addresses", failures, Tallies::size)
        .description("Addresses from which clients have failed to authenticate in their windows, and that are not blocked")
        .register(meters);
    forgotten("address", failures, meters);
    forgotten("user", guesses, meters);
    forgotten("client", connects, meters);
  }

  private static Counter blocked(BlockKind kind, Blocks<?> blocks, MeterRegistry meters) {
    Gauge.builder("dunlin.auth.blocks", blocks, Blocks::size)
        .description("Addresses and client identifiers that are blocked now")
        .tag("kind", kind.label())
        .register(meters);
    FunctionCounter.builder("dunlin.auth.blocks.cut-short", blocks, Blocks::endedEarly)
        .description("Blocks that ended early because there were too many")
        .tag("kind", kind.label())
        .register(meters);
    return Counter.builder("dunlin.auth.blocks.begun")
        .description("Blocks that have begun: of addresses after too many failed authentications, of client identifiers after too many CONNECTs")
        .tag("kind", kind.label())
        .register(meters);
  }

  private static void forgotten(String kind, Tallies<?, ?> tallies, MeterRegistry meters) {
    FunctionCounter.builder("dunlin.auth.tallies.forgotten", tallies, Tallies::forgotten)
        .description("Counts of failures and CONNECTs that were forgotten before their windows ended because there were too many; those seen least go first")
        .tag("kind", kind)
        .register(meters);
  }

  // --------------------------------------------------------------------------------------------------------- failed authentications

  /** Whether an address is blocked. */
  public boolean isBlocked(SocketAddress address) {
    InetAddress host = host(address);
    return settings.failures().on() && host != null && addresses.holds(AddressCounts.keyOf(host));
  }

  /**
   * Counts a failed authentication against the address that it came from, and for the user name.
   *
   * @param user the name that the client gave; empty for none
   */
  public void failed(SocketAddress address, String user) {
    if (!user.isEmpty()) guessed(user, address);
    BlockRule rule = settings.failures();
    InetAddress host = host(address);
    if (!rule.on() || host == null) return;
    Long key = AddressCounts.keyOf(host);
    // Several attempts may be verified at the same time. Each thread that finds the limit reached begins the block itself, before it verifies again: the
    // thread that reached it may not have come so far.
    if (addresses.holds(key) || failures.of(key).incrementAndGet() < rule.max()) return;
    String value = textOf(host);
    Block block = new Block("", value, wall.instant().plus(rule.block()), rule.max() + " failed authentications");
    boolean begun = addresses.begin(key, block);
    failures.forget(key);
    if (!begun) return;
    addressesBlocked.increment();
    if (!addressLines.admits()) return;
    EventLine.of(events, Level.WARN, "address-blocked")
        .text("address", value)
        .text("user", user)
        .number("failures", rule.max())
        .number("seconds", rule.block().toSeconds())
        .number("untold", addressLines.leftOut())
        .write();
  }

  private void guessed(String user, SocketAddress last) {
    int alert = settings.userFailures();
    if (alert == 0 || guesses.of(user).incrementAndGet() != alert) return;
    usersGuessed.increment();
    if (!userLines.admits()) return;
    EventLine.of(events, Level.WARN, "user-guessed")
        .text("user", user)
        .text("address", last.toString())
        .number("failures", alert)
        .number("untold", userLines.leftOut())
        .write();
  }

  private static @Nullable InetAddress host(SocketAddress address) {
    return address instanceof InetSocketAddress internet ? internet.getAddress() : null;
  }

  /** An IPv4 address, or the /64 network of an IPv6 address, in the form that bans have. */
  private static String textOf(InetAddress host) {
    if (!(host instanceof Inet6Address)) return host.getHostAddress();
    byte[] network = Arrays.copyOf(Arrays.copyOf(host.getAddress(), NETWORK_BYTES), 2 * NETWORK_BYTES);
    return address(network).getHostAddress() + '/' + NETWORK_BITS;
  }

  private static InetAddress address(byte[] bytes) {
    try {
      return InetAddress.getByAddress(bytes);
    } catch (UnknownHostException e) {
      throw new IllegalStateException("an address of " + bytes.length + " bytes", e);
    }
  }

  // -------------------------------------------------------------------------------------------------------------------- connects

  /** Whether a client is blocked. */
  public boolean isBlocked(String tenant, String clientId) {
    return settings.connects().on() && clients.holds(new ClientKey(tenant, clientId));
  }

  /** Counts an accepted CONNECT. Only these count: otherwise strangers could have a client blocked by its identifier. */
  public void connected(Arrival arrival) {
    BlockRule rule = settings.connects();
    if (!rule.on()) return;
    ClientKey key = new ClientKey(arrival.tenant(), arrival.clientId());
    Connects.Seen seen = connects.of(key).add(arrival);
    if (seen.count() < rule.max()) return;
    boolean begun = clients.begin(key, new Block(key.tenant(), key.clientId(), wall.instant().plus(rule.block()), reason(seen, arrival.address())));
    connects.forget(key);
    if (!begun) return;
    clientsBlocked.increment();
    if (!clientLines.admits()) return;
    EventLine.of(events, Level.WARN, "client-flapping")
        .text("client", arrival.clientId())
        .word("tenant", arrival.tenant())
        .text("address", arrival.address().toString())
        .text("other-address", text(seen.other()))
        .text("other-node", seen.otherNode())
        .number("connects", seen.count())
        .number("takeovers", seen.takeOvers())
        .text("explanation", explanation(seen))
        .number("seconds", rule.block().toSeconds())
        .number("untold", clientLines.leftOut())
        .write();
  }

  private static String reason(Connects.Seen seen, SocketAddress last) {
    String addresses = seen.other() == null ? last.toString() : last + " and " + seen.other();
    return "%d connects, %d of them take-overs, from %s".formatted(seen.count(), seen.takeOvers(), addresses);
  }

  private static String text(@Nullable SocketAddress address) {
    return address == null ? "" : address.toString();
  }

  private static String explanation(Connects.Seen seen) {
    if (2 * seen.takeOvers() <= seen.count()) return "the client connects again and again";
    return seen.other() == null && seen.otherNode().isEmpty()
        ? "one client connects again without ending its old connections, or several devices behind one address use its identifier"
        : "most CONNECTs took the session over from a connection that was open: two devices seem to use this client identifier";
  }

  // ----------------------------------------------------------------------------------------------------------------- for operators

  List<Block> blocks(BlockKind kind) {
    return switch (kind) {
      case ADDRESS -> addresses.all();
      case CLIENT -> clients.all();
    };
  }

  /**
   * Ends a block.
   *
   * @return false if there is none
   * @throws IllegalArgumentException if an address is none, or a network of IPv6 addresses is no /64
   */
  boolean unblock(BlockKind kind, String tenant, String value) {
    return switch (kind) {
      case ADDRESS -> addresses.remove(AddressCounts.keyOf(addressOf(value)));
      case CLIENT -> clients.remove(new ClientKey(tenant, value));
    };
  }

  private static InetAddress addressOf(String value) {
    return AddressRange.parse(value)
        .filter(range -> range.bits() == 8 * range.address().length || (range.address().length > NETWORK_BYTES && range.bits() == NETWORK_BITS))
        .map(range -> address(range.address()))
        .orElseThrow(() -> new IllegalArgumentException("neither an address nor an IPv6 network such as 2001:db8::/64"));
  }
}
