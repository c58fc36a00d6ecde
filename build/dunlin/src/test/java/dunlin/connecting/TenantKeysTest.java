package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteRows;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.retain.TopicKeys;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Client identifiers, topics and filters that imitate the keys of another tenant: in each store, all keys of a tenant are next to each other, and none is that of
 * another tenant's row.
 */
class TenantKeysTest {
  private static final int TEXTS = 40;
  private static final int SHARDS = 4;

  /** What keys are made of, and what sorts in front of it or behind it. */
  private static final List<String> PIECES =
      List.of("\u0001", "\u0002", "\u0003", "\u0007", "\u001f", " ", "!", "$", "$SYS", "$share/g/", "$oshare/g/", "+", "#", "/", "//", "0", "s", "m", "g", "\u007f", "\u00ff", "\ud7ff", "\uffff", "\ud83d\udca5");

  /** The key of a row, and whose it is. */
  private record Key(String tenant, byte[] bytes) {}

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed != null ? LongStream.of(seed) : LongStream.rangeClosed(1, 30);
  }

  /** Names of which one begins with another, has its length as a character, or differs from it in what sorts first. */
  private static List<String> tenants(Random random) {
    String name = name(random, 1 + random.nextInt(8));
    Set<String> all = new HashSet<>(List.of(name, name + name, name + ".", name + "-", name + "0", "a", "default", "z".repeat(64), "0".repeat(48) + name));
    if (name.length() > 1) all.add(name.substring(0, name.length() - 1));
    return List.copyOf(all);
  }

  private static String name(Random random, int length) {
    String letters = "-.0AZ_az";
    var name = new StringBuilder();
    for (int i = 0; i < length; i++) name.append(letters.charAt(random.nextInt(letters.length())));
    return name.toString();
  }

  /** A text made of other tenants' names, lengths, shards and what stands between the parts of keys. */
  private static String text(Random random, List<String> tenants) {
    var text = new StringBuilder();
    int pieces = 1 + random.nextInt(6);
    for (int i = 0; i < pieces; i++) {
      String tenant = tenants.get(random.nextInt(tenants.size()));
      switch (random.nextInt(5)) {
        case 0 -> text.append(tenant);
        case 1 -> text.append((char) tenant.length()).append(tenant);
        case 2 -> text.append((char) (1 + random.nextInt(SHARDS))).append(tenant);
        default -> text.append(PIECES.get(random.nextInt(PIECES.size())));
      }
    }
    return random.nextInt(20) == 0 ? text.toString().repeat(65_000 / text.toString().getBytes(StandardCharsets.UTF_8).length) : text.toString();
  }

  /** The text as a filter, plain or shared; without wildcards where it would be none with them. */
  private static TopicFilter filter(Random random, String text) {
    String asked = random.nextInt(3) == 0 ? "$share/" + text.replaceAll("[/+#]", "x") + '/' + text : text;
    return TopicFilter.parse(asked).orElseGet(() -> TopicFilter.plain(text.replace('+', 'p').replace('#', 'h')));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void ofSessions(long seed) {
    var random = new Random(seed);
    List<String> tenants = tenants(random);
    List<Key> keys = new ArrayList<>();
    for (String tenant : tenants) {
      for (int i = 0; i < TEXTS; i++) {
        String text = text(random, tenants);
        var session = new SessionKey(tenant, text);
        var group = new GroupKey(tenant, filter(random, text));
        int shard = random.nextInt(SHARDS);
        long number = (random.nextLong() >>> 1 & ~0xFFFFL) | shard;
        var rows =
            List.of(
                SessionKeys.record(shard, session), SessionKeys.inbox(shard, session), SessionKeys.subscription(shard, session, text(random, tenants)),
                SessionKeys.exchange(shard, session, 1 + random.nextInt(65_535)), SessionKeys.outstanding(shard, session, text(random, tenants)),
                SessionKeys.foreignExchange(shard, session, number, 1), SessionKeys.foreignWill(shard, session, number), SessionKeys.will(session, number), SessionKeys.left(tenant, number),
                SessionKeys.message(SessionKeys.sessionMessages(session, number), number), SessionKeys.body(tenant, number),
                SessionKeys.group(shard, group), SessionKeys.groupInbox(shard, group), SessionKeys.groupQueue(group, number),
                SessionKeys.groupTransfer(group, number), SessionKeys.acceptedTransfer(shard, group, number),
                SessionKeys.message(SessionKeys.groupMessages(group, number), number));
        for (byte[] row : rows) {
          assertThat(SessionKeys.tenant(row)).as("seed %d", seed).isEqualTo(tenant);
          assertThat(SessionKeys.isOfShard(row)).as("seed %d", seed).isFalse();
          keys.add(new Key(tenant, row));
        }
        keys.add(new Key("", SessionKeys.counters(shard)));
        keys.add(new Key("", SessionKeys.fence(number)));
      }
    }
    areApart(keys, key -> SessionKeys.shard(key.bytes) + " " + key.tenant, seed);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void ofRoutes(long seed) {
    var random = new Random(seed);
    List<String> tenants = tenants(random);
    List<Key> keys = new ArrayList<>();
    for (String tenant : tenants) {
      for (int i = 0; i < TEXTS; i++) {
        var shard = random.nextBoolean() ? ShardId.inbox(random.nextInt(SHARDS)) : ShardId.frontend(tenants.get(random.nextInt(tenants.size())));
        keys.add(new Key(tenant, RouteRows.key(new Route(tenant, filter(random, text(random, tenants)), shard, 1, 1))));
      }
    }
    areApart(keys, Key::tenant, seed);
    for (String tenant : tenants) {
      byte[] prefix = RouteRows.prefix(tenant, new byte[0], 0);
      assertThat(keys).as("seed %d: what is deleted with %s", seed, tenant).allMatch(key -> begins(key.bytes, prefix) == key.tenant.equals(tenant));
    }
    for (String with : List.of("", "$share/g/", "$share/g\0")) assertThat(TopicFilter.parse(with + "a\0/" + tenants.getFirst())).isEmpty();
  }

  private static boolean begins(byte[] key, byte[] prefix) {
    return key.length >= prefix.length && Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void ofRetainedMessages(long seed) {
    var random = new Random(seed);
    List<String> tenants = tenants(random);
    List<Key> keys = new ArrayList<>();
    for (String tenant : tenants) {
      for (int i = 0; i < TEXTS; i++) keys.add(new Key(tenant, TopicKeys.of(message(tenant, text(random, tenants)))));
      keys.add(new Key(tenant, TopicKeys.first(tenant, "#", null)));
    }
    areApart(keys, Key::tenant, seed);
    assertThat(TopicKeys.hasKey(message("t", "a\0" + tenants.getFirst()))).isFalse();
  }

  private static Publication message(String tenant, String topic) {
    return Publication.of(new Publisher(tenant, "c"), topic, QoS.AT_LEAST_ONCE, true, 0, new byte[1]);
  }

  /** Sorts keys, and looks whether those of one owner are next to each other, and no two owners have the same. */
  private static void areApart(List<Key> keys, Function<Key, String> ownerOf, long seed) {
    keys.sort((one, other) -> Arrays.compareUnsigned(one.bytes, other.bytes));
    Set<String> before = new HashSet<>();
    for (int i = 1; i < keys.size(); i++) {
      String owner = ownerOf.apply(keys.get(i));
      String last = ownerOf.apply(keys.get(i - 1));
      if (owner.equals(last)) continue;
      assertThat(before.add(last)).as("seed %d: the keys of %s are in one piece", seed, last).isTrue();
      assertThat(before).as("seed %d: the keys of %s are in one piece", seed, owner).doesNotContain(owner);
      assertThat(keys.get(i).bytes).as("seed %d", seed).isNotEqualTo(keys.get(i - 1).bytes);
    }
  }
}
