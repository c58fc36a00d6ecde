package dunlin.broker.users;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.users.AccessCommand.Delete;
import dunlin.broker.users.AccessCommand.Put;
import dunlin.broker.users.AccessCommand.Sweep;
import dunlin.broker.users.AccessEntry.Ban;
import dunlin.broker.users.AccessEntry.Kind;
import dunlin.broker.users.AccessEntry.Role;
import dunlin.broker.users.AccessEntry.RowKey;
import dunlin.broker.users.AccessEntry.Tenant;
import dunlin.broker.users.AccessEntry.User;
import dunlin.broker.users.AccessResult.Done;
import dunlin.broker.users.AccessResult.Refused;
import dunlin.broker.users.AccessResult.Why;
import dunlin.store.RangeWriter;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AccessRangeTest {
  private static final AccessBounds BOUNDS = new AccessBounds(3, 2, 2, 1 << 20);
  private static final int PAGE = 256 << 10;

  private final Rows rows = new Rows();
  private final AccessRange range = new AccessRange();

  private AccessResult apply(AccessCommand command) {
    return range.apply(List.of(logged(command)), rows).getFirst();
  }

  /** As it is read from a log. */
  private static AccessCommand logged(AccessCommand command) {
    var codec = new AccessCodec();
    var bytes = ByteBuffer.allocate(codec.encodedLength(command));
    codec.encode(command, bytes);
    return codec.decode(bytes.flip());
  }

  private static Put put(AccessEntry entry, long expected) {
    return new Put(BOUNDS, new AccessChange.Put(expected, entry, false), new byte[] {1, 2, 3});
  }

  private static Delete delete(long expected, RowKey key) {
    return new Delete(new AccessChange.Delete(expected, key));
  }

  private static User user(String name, String... roles) {
    return new User(name, "verifier", List.of(roles), true);
  }

  private static Ban ban(String client, long until) {
    return new Ban(Kind.BANNED_CLIENT, client, until, "");
  }

  private static RowKey key(Kind kind, String name) {
    return new RowKey(kind, name);
  }

  private static Why refusal(AccessResult result) {
    assertThat(result).isInstanceOf(Refused.class);
    return ((Refused) result).why();
  }

  @Test
  void eachChangeHasTheNextVersion() {
    assertThat(apply(put(user("a"), AccessChange.ABSENT))).isEqualTo(new Done(1));
    assertThat(apply(put(user("b"), AccessChange.ANY))).isEqualTo(new Done(2));
    assertThat(apply(put(user("a"), 1))).isEqualTo(new Done(3));
    assertThat(apply(delete(2, key(Kind.USER, "b")))).isEqualTo(new Done(4));
  }

  @Test
  void aChangeOfAnotherVersionIsRefused() {
    apply(put(user("a"), AccessChange.ABSENT));

    assertThat(refusal(apply(put(user("a"), AccessChange.ABSENT)))).isEqualTo(Why.CONFLICT);
    assertThat(refusal(apply(put(user("a"), 7)))).isEqualTo(Why.CONFLICT);
    assertThat(refusal(apply(put(user("b"), 1)))).isEqualTo(Why.CONFLICT);
    assertThat(refusal(apply(delete(7, key(Kind.USER, "a"))))).isEqualTo(Why.CONFLICT);
    assertThat(refusal(apply(delete(AccessChange.ANY, key(Kind.USER, "b"))))).isEqualTo(Why.MISSING);
    assertThat(range.version()).isEqualTo(1);
  }

  @Test
  void usersHaveOnlyRolesThatThereAre() {
    assertThat(refusal(apply(put(user("a", "r"), AccessChange.ANY)))).isEqualTo(Why.ROLES);
    apply(put(new Role("r", List.of("allow all #")), AccessChange.ANY));
    apply(put(user("a", "r"), AccessChange.ANY));

    assertThat(refusal(apply(delete(AccessChange.ANY, key(Kind.ROLE, "r"))))).isEqualTo(Why.ROLES);
    apply(put(user("a"), AccessChange.ANY));
    assertThat(apply(delete(AccessChange.ANY, key(Kind.ROLE, "r")))).isInstanceOf(Done.class);
  }

  @Test
  void aUserKeepsItsVerifier() {
    apply(put(new User("a", "first", List.of(), true), AccessChange.ANY));
    apply(new Put(BOUNDS, new AccessChange.Put(AccessChange.ANY, new User("a", "", List.of(), false), true), new byte[0]));

    assertThat(copied().get(key(Kind.USER, "a"))).isEqualTo(new User("a", "first", List.of(), false));
  }

  @Test
  void whatIsBeyondABoundIsRefusedUntilThereIsRoom() {
    for (String name : List.of("a", "b", "c")) apply(put(user(name), AccessChange.ANY));
    assertThat(refusal(apply(put(user("d"), AccessChange.ANY)))).isEqualTo(Why.FULL);
    assertThat(apply(put(user("a"), AccessChange.ANY))).isInstanceOf(Done.class);
    apply(delete(AccessChange.ANY, key(Kind.USER, "b")));
    assertThat(apply(put(user("d"), AccessChange.ANY))).isInstanceOf(Done.class);

    var small = new AccessBounds(100, 100, 100, range.bytes() + 10);
    assertThat(refusal(apply(new Put(small, new AccessChange.Put(AccessChange.ANY, ban("x", 0), false), new byte[0])))).isEqualTo(Why.FULL);
    for (String client : List.of("x", "y")) apply(put(ban(client, 0), AccessChange.ANY));
    assertThat(refusal(apply(put(ban("z", 0), AccessChange.ANY)))).isEqualTo(Why.FULL);
  }

  @Test
  void tenantsAreKeptChangedAndDeletedAndAreNoBans() {
    var blue = new Tenant("blue", Tenant.State.ACTIVE, List.of("connections=10", "wildcards=no"));
    assertThat(apply(put(blue, AccessChange.ABSENT))).isEqualTo(new Done(1));
    for (String client : List.of("x", "y")) assertThat(apply(put(ban(client, 0), AccessChange.ANY))).as("their bound is another one").isInstanceOf(Done.class);
    assertThat(copied().get(blue.key())).isEqualTo(blue);
    var again = new AccessRange();
    again.open(rows);
    assertThat(again.bytes()).isEqualTo(range.bytes());

    var deleting = new Tenant("blue", Tenant.State.DELETING, List.of());
    assertThat(refusal(apply(put(deleting, 7)))).isEqualTo(Why.CONFLICT);
    apply(put(deleting, 1));
    assertThat(copied().get(blue.key())).isEqualTo(deleting);
    apply(delete(AccessChange.ANY, blue.key()));
    assertThat(copied()).doesNotContainKey(blue.key());
    assertThat(refusal(apply(delete(AccessChange.ANY, blue.key())))).isEqualTo(Why.MISSING);
  }

  @Test
  void onlyBansThatHaveEndedAreSwept() {
    apply(put(ban("x", 1_000), AccessChange.ANY));
    apply(put(ban("y", 0), AccessChange.ANY));

    assertThat(range.ended(999)).isEmpty();
    assertThat(range.ended(1_000)).containsExactly(key(Kind.BANNED_CLIENT, "x"));
    apply(new Sweep(999, range.ended(1_000)));
    assertThat(copied()).hasSize(2);
    apply(new Sweep(1_000, List.of(key(Kind.BANNED_CLIENT, "x"), key(Kind.BANNED_CLIENT, "y"))));
    assertThat(copied().keySet()).containsExactly(key(Kind.BANNED_CLIENT, "y"));
  }

  @Test
  void theFirstChangeBringsTheSecretForAllTime() {
    apply(put(user("a"), AccessChange.ANY));
    apply(new Put(BOUNDS, new AccessChange.Put(AccessChange.ANY, user("b"), false), new byte[] {9}));

    assertThat(range.changes(0, 0, PAGE).secret()).containsExactly(1, 2, 3);
    var again = new AccessRange();
    again.open(rows);
    assertThat(again.changes(0, 0, PAGE).secret()).containsExactly(1, 2, 3);
  }

  /** Copies that ask at any time, in pages of any size, have in the end what the range has; also a range that was opened again from its rows. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void copiesFollowTheRange(long seed) {
    var random = new Random(seed);
    var bounds = new AccessBounds(20, 20, 20, 1 << 20);
    AccessRange present = range;
    Map<RowKey, AccessEntry> model = new HashMap<>();
    var copies = List.of(new Copy(), new Copy(), new Copy());
    for (int step = 0; step < 6_000; step++) {
      String name = "n" + random.nextInt(30);
      Kind kind = random.nextBoolean() ? Kind.USER : Kind.BANNED_CLIENT;
      AccessEntry entry = kind == Kind.USER ? user(name) : ban(name, random.nextInt(3));
      AccessCommand command =
          random.nextInt(5) == 0
              ? delete(AccessChange.ANY, entry.key())
              : new Put(bounds, new AccessChange.Put(AccessChange.ANY, entry, false), new byte[] {1});
      if (present.apply(List.of(command), rows).getFirst() instanceof Done) {
        if (command instanceof Put) model.put(entry.key(), entry);
        else model.remove(entry.key());
      }
      if (random.nextInt(1_000) == 0) {
        present = new AccessRange();
        present.open(rows);
      }
      var asking = copies.get(random.nextInt(copies.size()));
      if (random.nextInt(step < 3_000 ? 3 : 30) == 0) asking.ask(present, 1 + random.nextInt(2_000));
    }
    for (Copy each : copies) {
      each.askAll(present);
      assertThat(each.entries).as("seed " + seed).isEqualTo(model);
    }
    assertThat(present.bytes()).isEqualTo(reopened().bytes());
  }

  private AccessRange reopened() {
    var opened = new AccessRange();
    opened.open(rows);
    return opened;
  }

  private Map<RowKey, AccessEntry> copied() {
    var copy = new Copy();
    copy.askAll(range);
    return copy.entries;
  }

  /** Does with pages what a copy has to do. */
  private static final class Copy {
    private final Map<RowKey, AccessEntry> entries = new HashMap<>();
    private long base;
    private long since;

    boolean ask(AccessRange range, int bytesMax) {
      var page = range.changes(base, since, bytesMax);
      if (page.fromStart()) entries.clear();
      for (AccessPage.Change each : page.changes()) {
        each.row().ifPresentOrElse(row -> entries.put(each.key(), row.entry()), () -> entries.remove(each.key()));
      }
      base = page.base();
      since = page.upTo();
      return page.complete();
    }

    void askAll(AccessRange range) {
      while (!ask(range, 500)) assertThat(since).isPositive();
    }
  }

  /** Rows in memory. */
  private static final class Rows implements RangeWriter {
    private final TreeMap<byte[], byte[]> all = new TreeMap<>(Arrays::compareUnsigned);

    @Override
    public void put(byte[] key, byte[] value) {
      all.put(key, value);
    }

    @Override
    public void delete(byte[] key) {
      all.remove(key);
    }

    @Override
    public byte @Nullable [] get(byte[] key) {
      return all.get(key);
    }

    @Override
    public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
      for (var each : (to == null ? all.tailMap(from, true) : all.subMap(from, true, to, false)).entrySet()) {
        if (!visitor.row(each.getKey(), each.getValue())) return;
      }
    }
  }
}
