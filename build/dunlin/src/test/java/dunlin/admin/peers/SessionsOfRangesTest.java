package dunlin.admin.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.SessionFigure;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.server.InboxServer;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sessions in several ranges are seen and changed as if they were in one. */
class SessionsOfRangesTest {
  private static final Layout LAYOUT = new Layout(16, 3);
  private static final String TENANT = "t";
  private static final String GROUP = "$share/g/a";

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 10) : LongStream.of(seed);
  }

  /** A range of sessions, each of which is a member of one of the groups. */
  private static final class Held implements SessionsMXBean {
    private final TreeMap<String, SessionRow> rows = new TreeMap<>();
    private boolean silent;

    private NavigableMap<String, SessionRow> rows() {
      if (silent) throw PeerBeans.unanswered("the sessions of one range have no leader");
      return rows;
    }

    private List<SessionRow> behind(String prefix, String after, int max) {
      return rows().tailMap(after, false).values().stream().filter(row -> row.clientId().startsWith(prefix)).limit(max).toList();
    }

    private boolean has(String clientId) {
      return rows().containsKey(clientId);
    }

    private static String groupOf(SessionRow row) {
      return GROUP + row.subscriptions() % 5;
    }

    @Override
    public int getSessions() {
      return rows().size();
    }

    @Override
    public List<SessionRow> list(String tenant, String prefix, String after, int max) {
      return behind(prefix, after, max);
    }

    @Override
    public List<SessionRow> top(SessionFigure by, int max) {
      return rows().values().stream().filter(row -> by.of(row) > 0).sorted(by.mostFirst()).limit(max).toList();
    }

    @Override
    public List<SubscriberRow> subscribers(String tenant, String filter, String after, int max) {
      return rows().tailMap(after, false).values().stream()
          .filter(row -> groupOf(row).equals(filter))
          .limit(max)
          .map(row -> new SubscriberRow(filter, "g", row.clientId(), "", true, 1, 0, 0, row.messages(), 0, 0))
          .toList();
    }

    @Override
    public List<GroupOfSessions> groups(String tenant, String after, int max) {
      TreeMap<String, GroupOfSessions> groups = new TreeMap<>();
      for (SessionRow row : rows().values()) groups.merge(groupOf(row), new GroupOfSessions(groupOf(row), 1, 0, row.messages(), row.bytes(), 1), GroupOfSessions::and);
      return groups.tailMap(after, false).values().stream().limit(max).toList();
    }

    @Override
    public List<GroupOfSessions> group(String tenant, String filter) {
      return groups(tenant, "", 1_000).stream().filter(group -> group.filter().equals(filter)).toList();
    }

    @Override
    public List<SessionOutlook> outlook(String tenant, String clientId, String topic) {
      return has(clientId) ? List.of(new SessionOutlook("", 1, 1, List.of(), List.of(), 0, 0, 1, 1, "REJECT", true)) : List.of();
    }

    @Override
    public List<SubscriptionRow> subscriptions(String tenant, String clientId, String after, int max) {
      return has(clientId) ? List.of(new SubscriptionRow("a", 1, false, false, 0, 0)) : List.of();
    }

    @Override
    public MessagePage messages(String tenant, String clientId, long after, int max) {
      return new MessagePage(List.of(), has(clientId) ? 7 : MessagePage.END);
    }

    @Override
    public List<WaitingMessage> message(String tenant, String clientId, long sequence) {
      return has(clientId) ? List.of(new WaitingMessage(sequence, "a", 1, "p", "", 0, "")) : List.of();
    }

    @Override
    public boolean disconnect(String tenant, String clientId) {
      return has(clientId);
    }

    @Override
    public int delete(String tenant, String prefix, int max) {
      var some = behind(prefix, "", max);
      some.forEach(row -> rows.remove(row.clientId()));
      return some.size();
    }

    @Override
    public boolean deleteOne(String tenant, String clientId) {
      return rows().remove(clientId) != null;
    }
  }

  private final Held whole = new Held();
  private final List<Held> parts = List.of(new Held(), new Held(), new Held());
  private final List<Integer> asked = new ArrayList<>();
  private final SessionsMXBean all =
      new SessionsOfRanges(
          LAYOUT,
          number -> {
            asked.add(number);
            return parts.get(number);
          });

  private void add(Random random, int count) {
    for (int i = 0; i < count; i++) {
      String client = "c" + random.nextInt(10) + "-" + i;
      var row = new SessionsMXBean.SessionRow(TENANT, client, "", false, 60, random.nextInt(9), random.nextInt(4), random.nextInt(1_000), random.nextInt(1_000));
      whole.rows.put(client, row);
      parts.get(LAYOUT.rangeOf(InboxServer.shardOf(LAYOUT.shards(), TENANT, client).number())).rows.put(client, row);
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void pagesOfAllRangesAreThoseOfOne(long seed) {
    var random = new Random(seed);
    add(random, 200);
    assertThat(parts).as("seed %d", seed).allSatisfy(part -> assertThat(part.rows).isNotEmpty());
    for (int i = 0; i < 100; i++) {
      String prefix = random.nextBoolean() ? "" : "c" + random.nextInt(10);
      String after = random.nextInt(3) == 0 ? "" : "c" + random.nextInt(10) + "-" + random.nextInt(200);
      int max = 1 + random.nextInt(30);
      String group = GROUP + random.nextInt(5);

      assertThat(all.list(TENANT, prefix, after, max)).as("seed %d", seed).isEqualTo(whole.list(TENANT, prefix, after, max));
      for (SessionFigure by : SessionFigure.values()) assertThat(all.top(by, max)).as("seed %d", seed).isEqualTo(whole.top(by, max));
      assertThat(all.subscribers(TENANT, group, after, max)).as("seed %d", seed).isEqualTo(whole.subscribers(TENANT, group, after, max));
      assertThat(all.groups(TENANT, random.nextBoolean() ? "" : group, 2)).as("seed %d", seed).hasSizeLessThanOrEqualTo(2);
      assertThat(all.groups(TENANT, group, max)).as("seed %d", seed).isEqualTo(whole.groups(TENANT, group, max));
    }
    assertThat(all.getSessions()).isEqualTo(whole.getSessions());
    assertThat(all.group(TENANT, GROUP + 1).stream().mapToInt(SessionsMXBean.GroupOfSessions::members).sum())
        .isEqualTo(whole.group(TENANT, GROUP + 1).getFirst().members());
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void asManyAreDeletedAsAskedFor(long seed) {
    var random = new Random(seed);
    add(random, 100);
    while (!whole.rows.isEmpty()) {
      int max = 1 + random.nextInt(40);
      assertThat(all.delete(TENANT, "c", max)).as("seed %d", seed).isEqualTo(whole.delete(TENANT, "c", max));
      assertThat(all.getSessions()).as("seed %d", seed).isEqualTo(whole.getSessions());
    }
    assertThat(all.delete(TENANT, "c", 5)).isZero();
  }

  @Test
  void aQuestionAboutAClientGoesToItsRangeAlone() {
    add(new Random(1), 50);
    for (String client : List.copyOf(whole.rows.keySet())) {
      asked.clear();
      assertThat(all.outlook(TENANT, client, "a")).hasSize(1);
      assertThat(all.subscriptions(TENANT, client, "", 1)).hasSize(1);
      assertThat(all.messages(TENANT, client, 0, 1).next()).isEqualTo(7);
      assertThat(all.message(TENANT, client, 3)).hasSize(1);
      assertThat(all.disconnect(TENANT, client)).isTrue();
      assertThat(all.deleteOne(TENANT, client)).isTrue();
      assertThat(all.deleteOne(TENANT, client)).isFalse();
      assertThat(asked).hasSize(7).containsOnly(LAYOUT.rangeOf(InboxServer.shardOf(LAYOUT.shards(), TENANT, client).number()));
    }
  }

  @Test
  void aRangeWithoutALeaderIsMissedByQuestionsAboutAllAndByItsClients() {
    add(new Random(1), 50);
    String here = parts.get(0).rows.firstKey();
    String there = parts.get(2).rows.firstKey();
    parts.get(2).silent = true;

    assertThatThrownBy(() -> all.list(TENANT, "", "", 10)).isInstanceOf(UncheckedIOException.class).hasMessageContaining("no leader");
    assertThatThrownBy(all::getSessions).isInstanceOf(UncheckedIOException.class);
    assertThatThrownBy(() -> all.outlook(TENANT, there, "a")).isInstanceOf(UncheckedIOException.class);
    assertThat(all.outlook(TENANT, here, "a")).hasSize(1);
  }
}
