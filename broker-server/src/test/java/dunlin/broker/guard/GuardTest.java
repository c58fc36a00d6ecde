package dunlin.broker.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dunlin.broker.guard.BlocksMXBean.BlockRow;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is blocked, when, and for how long, by a clock of the test. */
class GuardTest {
  private static final Duration WINDOW = Duration.ofSeconds(60);
  private static final Duration BLOCK = Duration.ofMinutes(5);
  private static final Instant NOW = Instant.parse("2030-01-01T00:00:00Z");

  private final AtomicLong nanos = new AtomicLong(-TimeUnit.DAYS.toNanos(1));
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final Guard guard = guard(3, 5, 4);

  /** The meters are those of the last one. */
  private Guard guard(int failures, int userFailures, int connects) {
    meters.clear();
    var settings = new GuardSettings(new BlockRule(failures, WINDOW, BLOCK), userFailures, new BlockRule(connects, WINDOW, BLOCK));
    return new Guard(settings, InstantSource.fixed(NOW), nanos::get, meters);
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private static SocketAddress address(String host) {
    return new InetSocketAddress(host, 1_883);
  }

  /** One of 2^24 addresses. */
  private static SocketAddress address(int number) {
    return address("10.%d.%d.%d".formatted(number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF));
  }

  private void fail(String host, int times) {
    for (int i = 0; i < times; i++) guard.failed(address(host), "");
  }

  private void connect(Guard at, String tenant, String clientId, String host, int times) {
    for (int i = 0; i < times; i++) at.connected(new Arrival(tenant, clientId, address(host), false, ""));
  }

  private double count(String name, String kind) {
    return meters.get(name).tag("kind", kind).functionCounter().count();
  }

  // ------------------------------------------------------------------------------------------------------------------- addresses

  @Test
  void anAddressIsBlockedByItsLastFailureAndForItsTimeOnly() {
    fail("192.0.2.1", 2);
    assertThat(guard.isBlocked(address("192.0.2.1"))).isFalse();
    fail("192.0.2.1", 1);
    assertThat(guard.isBlocked(address("192.0.2.1"))).isTrue();
    assertThat(guard.isBlocked(address("192.0.2.2"))).as("another address").isFalse();

    pass(BLOCK.minusNanos(1));
    fail("192.0.2.1", 100);
    assertThat(guard.isBlocked(address("192.0.2.1"))).as("just before the end").isTrue();
    pass(Duration.ofNanos(1));
    assertThat(guard.isBlocked(address("192.0.2.1"))).as("what came back during the block does not prolong it").isFalse();

    fail("192.0.2.1", 2);
    assertThat(guard.isBlocked(address("192.0.2.1"))).as("counted anew").isFalse();
    fail("192.0.2.1", 1);
    assertThat(guard.isBlocked(address("192.0.2.1"))).isTrue();
    assertThat(meters.get("dunlin.auth.blocks.begun").tag("kind", "address").counter().count()).isEqualTo(2);
  }

  @Test
  void failuresCountWithinAWindow() {
    fail("192.0.2.1", 2);
    pass(WINDOW.minusNanos(1));
    assertThat(meters.get("dunlin.auth.failures.addresses").gauge().value()).isEqualTo(1);
    pass(Duration.ofNanos(1));
    fail("192.0.2.1", 2);

    assertThat(guard.isBlocked(address("192.0.2.1"))).isFalse();
    fail("192.0.2.1", 1);
    assertThat(guard.isBlocked(address("192.0.2.1"))).isTrue();
  }

  @Test
  void aNetworkOfIpv6IsOneAddressAndNoneOfIpv4() {
    for (int i = 1; i <= 3; i++) guard.failed(address("0:0:a00:1::" + i), ""); // whose first 64 bits are the number of 10.0.0.1

    assertThat(guard.isBlocked(address("0:0:a00:1:ffff::4"))).isTrue();
    assertThat(guard.isBlocked(address("0:0:a00:2::1"))).isFalse();
    assertThat(guard.isBlocked(address("10.0.0.1"))).isFalse();
    assertThat(guard.blocks(BlockKind.ADDRESS)).extracting(Block::value).containsExactly("0:0:a00:1:0:0:0:0/64");
  }

  @Test
  void aClientOfAUnixSocketHasNoAddressToBlock() {
    SocketAddress unix = UnixDomainSocketAddress.of("/run/mqtt.sock");
    for (int i = 0; i < 100; i++) guard.failed(unix, "alice");

    assertThat(guard.isBlocked(unix)).isFalse();
  }

  @Test
  void manyThreadsBeginOneBlock() throws Exception {
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < 8; i++) threads.add(Thread.ofPlatform().start(() -> fail("192.0.2.1", 1_000)));
    for (Thread each : threads) each.join();

    assertThat(guard.isBlocked(address("192.0.2.1"))).isTrue();
    assertThat(meters.get("dunlin.auth.blocks.begun").tag("kind", "address").counter().count()).isEqualTo(1);
  }

  @Test
  void eachThreadVerifiesAtMostOneBeyondTheLimit() throws Exception {
    Guard strict = guard(10, 0, 0);
    int addresses = 300;
    var verified = new AtomicIntegerArray(addresses);
    var together = new CyclicBarrier(4);
    Runnable verifying =
        () -> {
          for (int i = 0; i < addresses; i++) {
            try {
              together.await();
            } catch (InterruptedException | BrokenBarrierException e) {
              throw new IllegalStateException(e);
            }
            while (!strict.isBlocked(address(i))) {
              verified.incrementAndGet(i);
              strict.failed(address(i), "");
            }
          }
        };
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < 4; i++) threads.add(Thread.ofPlatform().start(verifying));
    for (Thread each : threads) each.join();

    for (int i = 0; i < addresses; i++) assertThat(verified.get(i)).as("from address %d", i).isBetween(10, 13);
  }

  /** Each of the others fails once, and there are more of them than the table holds. */
  @Test
  void addressesThatFailOnceDoNotWashOutTheCountOfOneThatGuesses() {
    Guard generous = guard(300, 0, 0);
    SocketAddress guesser = address("192.0.2.1");
    int other = 0;
    for (int guess = 0; guess < 300; guess++) {
      for (int i = 0; i < 500; i++) generous.failed(address(other++), "");
      generous.failed(guesser, "");
    }

    assertThat(generous.isBlocked(guesser)).isTrue();
    assertThat(generous.blocks(BlockKind.ADDRESS)).hasSize(1);
    int room = Tallies.BYTES_MAX / Guard.ADDRESS_BYTES;
    assertThat(count("dunlin.auth.tallies.forgotten", "address")).as("with room for %d", room).isBetween(150_000.0 - room, 150_000.0);
  }

  @Test
  void theBlocksAreBoundedAndThoseThatEndEarlyAreCounted() {
    Guard strict = guard(1, 0, 0);
    int max = Blocks.BYTES_MAX / Blocks.ENTRY_BYTES;
    for (int i = 0; i < 2 * max; i++) strict.failed(address(i), "");

    assertThat(strict.blocks(BlockKind.ADDRESS)).hasSizeBetween(max / 2, max);
    assertThat(count("dunlin.auth.blocks.cut-short", "address")).isGreaterThanOrEqualTo(max);
  }

  // ------------------------------------------------------------------------------------------------------------------ user names

  /** To be able to block a user name would be to be able to keep its owner out. */
  @Test
  void aUserNameThatIsGuessedAtIsReportedOnceAWindowAndNotBlocked() {
    for (int i = 0; i < 20; i++) guard.failed(address(i), "alice");

    assertThat(meters.get("dunlin.auth.guessed-users").counter().count()).isEqualTo(1);
    for (int i = 0; i < 21; i++) assertThat(guard.isBlocked(address(i))).isFalse();
    pass(WINDOW);
    for (int i = 0; i < 5; i++) guard.failed(address(100 + i), "alice");
    for (int i = 0; i < 20; i++) guard.failed(address(200 + i), "user-" + i);
    assertThat(meters.get("dunlin.auth.guessed-users").counter().count()).isEqualTo(2);
  }

  @Test
  void longNamesUseUpTheRoomOfManyShortOnes() {
    String padding = "x".repeat(60_000);
    for (int i = 0; i < 1_000; i++) guard.failed(address(i), padding + i);

    assertThat(count("dunlin.auth.tallies.forgotten", "user")).isGreaterThan(900);
  }

  // -------------------------------------------------------------------------------------------------------------------- connects

  @Test
  void aClientThatConnectsTooOftenIsBlockedForItsTimeOnly() {
    connect(guard, "default", "pump", "192.0.2.1", 3);
    pass(WINDOW);
    connect(guard, "default", "pump", "192.0.2.1", 3);
    assertThat(guard.isBlocked("default", "pump")).as("in two windows").isFalse();
    connect(guard, "default", "pump", "192.0.2.1", 1);
    assertThat(guard.isBlocked("default", "pump")).isTrue();
    assertThat(guard.isBlocked("default", "pump-2")).isFalse();
    assertThat(guard.isBlocked("other", "pump")).as("the client of another tenant").isFalse();
    assertThat(guard.isBlocked(address("192.0.2.1"))).as("its address").isFalse();

    pass(BLOCK);
    assertThat(guard.isBlocked("default", "pump")).isFalse();
    connect(guard, "default", "pump", "192.0.2.1", 3);
    assertThat(guard.isBlocked("default", "pump")).as("counted anew").isFalse();
  }

  @Test
  void aBlockSaysWhereTheTwoDevicesAre() {
    for (int i = 0; i < 4; i++) {
      guard.connected(new Arrival("default", "pump", new InetSocketAddress(i % 2 == 0 ? "192.0.2.1" : "192.0.2.2", 1_000 + i), i > 0, ""));
    }

    assertThat(guard.blocks(BlockKind.CLIENT))
        .containsExactly(new Block("default", "pump", NOW.plus(BLOCK), "4 connects, 3 of them take-overs, from /192.0.2.2:1003 and /192.0.2.1:1002"));
  }

  @Test
  void oneDeviceHasOneAddressWhateverItsPorts() {
    for (int i = 0; i < 4; i++) guard.connected(new Arrival("default", "pump", new InetSocketAddress("192.0.2.1", 1_000 + i), false, ""));

    assertThat(guard.blocks(BlockKind.CLIENT)).extracting(Block::reason).containsExactly("4 connects, 0 of them take-overs, from /192.0.2.1:1003");
  }

  /** A block and a tally of a client have more bytes than those of an address: its names, and where it came from. */
  @Test
  void fewerClientsThanAddressesHaveRoom() {
    Guard counting = guard(0, 0, 2);
    int tallies = Tallies.BYTES_MAX / Guard.CLIENT_BYTES;
    for (int i = 0; i < 2 * tallies; i++) connect(counting, "default", "pump-" + i, "192.0.2.1", 1);
    assertThat(count("dunlin.auth.tallies.forgotten", "client")).isGreaterThanOrEqualTo(tallies);

    Guard strict = guard(0, 0, 1);
    int blocks = Blocks.BYTES_MAX / (Blocks.ENTRY_BYTES + 2 * "1 connects, 0 of them take-overs, from /192.0.2.1:1883".length());
    for (int i = 0; i < 2 * blocks; i++) connect(strict, "default", "pump-" + i, "192.0.2.1", 1);
    assertThat(strict.blocks(BlockKind.CLIENT)).hasSizeBetween(blocks / 2, blocks);
    assertThat(count("dunlin.auth.blocks.cut-short", "client")).isGreaterThanOrEqualTo(blocks);
  }

  /** Without an order of the keys, this takes minutes: each of 65,536 client identifiers with the same hash code is compared with all that are there. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void clientsOfOneHashCodeAreFoundFast(int connectsMax) {
    Guard strict = guard(0, 0, connectsMax);
    assertThat(IntStream.of(0, 1, 65_535).map(i -> ofOneHashCode(i).hashCode()).distinct().count()).isEqualTo(1);

    int blocked =
        assertTimeoutPreemptively(
            Duration.ofSeconds(20),
            () -> {
              int found = 0;
              for (int i = 0; i < 1 << 16; i++) {
                connect(strict, "default", ofOneHashCode(i), "192.0.2.1", 1);
                if (strict.isBlocked("default", ofOneHashCode(i))) found++;
              }
              return found;
            });
    assertThat(blocked > 0).isEqualTo(connectsMax == 1);
    String full = connectsMax == 1 ? "dunlin.auth.blocks.cut-short" : "dunlin.auth.tallies.forgotten";
    assertThat(count(full, "client")).as("the table was full").isPositive();
  }

  /** "Aa" and "BB" have the same hash code, and so has every sequence of them. */
  private static String ofOneHashCode(int number) {
    var text = new StringBuilder();
    for (int bit = 0; bit < 16; bit++) text.append((number >>> bit & 1) == 0 ? "Aa" : "BB");
    return text.toString();
  }

  // -------------------------------------------------------------------------------------------------------------------------- off

  @Test
  void zeroMeansNever() {
    Guard off = guard(0, 0, 0);
    for (int i = 0; i < 10_000; i++) {
      off.failed(address("192.0.2.1"), "alice");
      connect(off, "default", "pump", "192.0.2.1", 1);
    }

    assertThat(off.isBlocked(address("192.0.2.1"))).isFalse();
    assertThat(off.isBlocked("default", "pump")).isFalse();
    assertThat(off.blocks(BlockKind.ADDRESS)).isEmpty();
    assertThat(off.blocks(BlockKind.CLIENT)).isEmpty();
    assertThat(meters.get("dunlin.auth.guessed-users").counter().count()).isZero();
  }

  // ---------------------------------------------------------------------------------------------------------------- for operators

  @Test
  void operatorsSeeBlocksInPagesAndWithoutThoseThatHaveEnded() {
    fail("192.0.2.2", 3);
    pass(Duration.ofSeconds(1));
    fail("192.0.2.1", 3);
    connect(guard, "default", "pump", "192.0.2.9", 4);
    connect(guard, "other", "valve", "192.0.2.9", 4);
    var bean = new BlocksBean(guard, "node");

    assertThat(bean.blocks(BlockKind.ADDRESS, "", "", 10)).extracting(BlockRow::value).containsExactly("192.0.2.1", "192.0.2.2");
    assertThat(bean.blocks(BlockKind.ADDRESS, "", "", 1)).containsExactly(
        new BlockRow(BlockKind.ADDRESS, "", "192.0.2.1", "2030-01-01T00:05:00Z", "3 failed authentications"));
    assertThat(bean.blocks(BlockKind.ADDRESS, "", "192.0.2.1", 1)).extracting(BlockRow::value).containsExactly("192.0.2.2");
    assertThat(bean.blocks(BlockKind.CLIENT, "default", "", 10)).extracting(BlockRow::value).containsExactly("pump");
    assertThat(bean.blocks(BlockKind.CLIENT, "other", "", 10)).extracting(BlockRow::tenant).containsExactly("other");
    assertThatThrownBy(() -> bean.blocks(BlockKind.CLIENT, "default", "", 0)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> bean.blocks(BlockKind.CLIENT, "default", "", 1_001)).isInstanceOf(IllegalArgumentException.class);

    pass(BLOCK.minusSeconds(1));
    assertThat(bean.blocks(BlockKind.ADDRESS, "", "", 10)).extracting(BlockRow::value).containsExactly("192.0.2.1");
    assertThat(meters.get("dunlin.auth.blocks").tag("kind", "address").gauge().value()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"2001:db8:0:1::7", "2001:db8:0:1::/64", "2001:db8:0:1:0:0:0:0/64", "2001:db8:0:1::9/128"})
  void anAddressMayBeNamedInAnyForm(String value) {
    for (int i = 1; i <= 3; i++) guard.failed(address("2001:db8:0:1::" + i), "");
    var bean = new BlocksBean(guard, "node");

    bean.remove(BlockKind.ADDRESS, "default", value);

    assertThat(guard.isBlocked(address("2001:db8:0:1::1"))).isFalse();
    assertThatThrownBy(() -> bean.remove(BlockKind.ADDRESS, "default", value)).isInstanceOf(NoSuchElementException.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "example.com", "192.0.2.0/24", "2001:db8::/48", "2001:db8::/65", "192.0.2.1/64"})
  void whatIsNoAddressIsRefused(String value) {
    fail("192.0.2.1", 3);

    assertThatThrownBy(() -> new BlocksBean(guard, "node").remove(BlockKind.ADDRESS, "", value)).isInstanceOf(IllegalArgumentException.class);
    assertThat(guard.isBlocked(address("192.0.2.1"))).isTrue();
  }

  @Test
  void aKindHasTheNameThatIsShown() {
    for (BlockKind each : BlockKind.values()) assertThat(BlockKind.of(each.label())).isEqualTo(each);
    for (String none : List.of("Address", "CLIENT", "user", "")) {
      assertThatThrownBy(() -> BlockKind.of(none)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("[address, client]");
    }
  }

  @Test
  void aClientIsUnblockedInItsTenantOnly() {
    for (String tenant : List.of("a", "b")) connect(guard, tenant, "pump", "192.0.2.1", 4);
    var bean = new BlocksBean(guard, "node");

    bean.remove(BlockKind.CLIENT, "a", "pump");

    assertThat(guard.isBlocked("a", "pump")).isFalse();
    assertThat(guard.isBlocked("b", "pump")).isTrue();
    assertThatThrownBy(() -> bean.remove(BlockKind.CLIENT, "a", "pump")).isInstanceOf(NoSuchElementException.class);
  }
}
