package dunlin.inbox.repair;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.RangeHarness;
import dunlin.inbox.range.SessionRange;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.QoS;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Reading all headers finds summaries that contradict them. */
final class StoredSessionsTest {
  private final RangeHarness h = new RangeHarness();
  private final SessionKey one = new SessionKey(RangeHarness.TENANT, "one");

  @BeforeEach
  void twoSessionsWait() {
    h.apply(new SessionCommand.Configure(RangeHarness.limits(100, OverflowPolicy.DROP_OLDEST)));
    for (String client : new String[] {"one", RangeHarness.neighbour("two", "one", true)}) {
      var session = h.connect(client).session();
      h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
      h.disconnect(session, false, 3600);
    }
    for (int i = 0; i < 3; i++) h.publish("a", "m");
    h.write();
  }

  @Test
  void allIsWell() {
    var read = StoredSessions.read(h.rows, 5);

    assertThat(read.wrong()).isEmpty();
    assertThat(read.sessions()).isEqualTo(2);
    assertThat(read.messages()).isEqualTo(6);
    assertThat(read.subscriptions()).isEqualTo(2);
    assertThat(read.largest()).extracting(StoredSessions.Inbox::messages).containsExactly(3L, 3L);
    assertThat(StoredSessions.session(h.rows, RangeHarness.TENANT, "one"))
        .hasValueSatisfying(inbox -> assertThat(inbox.messages()).isEqualTo(3));
    assertThat(StoredSessions.message(h.rows, RangeHarness.TENANT, "one", 3)).isPresent();
    assertThat(StoredSessions.message(h.rows, RangeHarness.TENANT, "one", 4)).isEmpty();
  }

  @Test
  void aHeaderThatIsMissingIsFound() {
    h.rows.delete(h.state(new SessionRef(one.tenant(), "one", 0)).backlog().key(2));

    var wrong = StoredSessions.read(h.rows, 5).wrong();

    assertThat(wrong).hasSize(3);
    assertThat(wrong.get(0)).startsWith("client \"one\" of tenant default has 2 messages").contains("its summary says 3 with");
    assertThat(wrong.get(1)).startsWith("5 messages").contains("all summaries say 6 with");
    assertThat(wrong.get(2)).isEqualTo("5 waiting messages share a body, and the counts of these bodies say 6");
  }

  @Test
  void anotherNumberOfShardsIsRefused() {
    assertThatThrownBy(() -> new SessionRange(ShardInterval.whole(32)).open(h.rows))
        .hasMessage("dunlin.inbox.shards is 32, but these sessions were stored with 16; it cannot be changed");
  }

  @Test
  void aRowOfAnUnknownShardIsRefused() {
    h.rows.put(SessionKeys.counters(16), new byte[] {1, 0, 0});

    assertThatThrownBy(() -> new SessionRange(ShardInterval.whole(16)).open(h.rows)).hasMessage("dunlin.inbox.shards is 16, but there is a row of shard 16");
  }

  @Test
  void aSummaryThatIsMissingIsFound() {
    h.rows.delete(SessionKeys.inbox(one.shard(RangeHarness.SHARDS), one));

    assertThat(StoredSessions.read(h.rows, 5).wrong()).first().asString().endsWith("its summary says nothing");
  }

  @Test
  void theUserOfASessionIsListed() {
    var owned = h.connect("alice", "owned").session();
    h.subscribe(owned, "a", QoS.AT_LEAST_ONCE);
    h.disconnect(owned, false, 3600);
    h.publish("a", "m");
    h.write();

    var read = StoredSessions.read(h.rows, 5);

    assertThat(read.largest()).extracting(StoredSessions.Inbox::name, StoredSessions.Inbox::user).contains(tuple("owned", "alice"), tuple("one", ""));
    assertThat(read.mostSubscriptions()).extracting(StoredSessions.Inbox::name, StoredSessions.Inbox::user).contains(tuple("owned", "alice"));
    assertThat(StoredSessions.session(h.rows, RangeHarness.TENANT, "owned")).hasValueSatisfying(inbox -> assertThat(inbox.user()).isEqualTo("alice"));
  }
}
