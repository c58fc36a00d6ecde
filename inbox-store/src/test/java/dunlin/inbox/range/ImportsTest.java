package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionExports;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.QoS;
import java.util.List;
import org.junit.jupiter.api.Test;

class ImportsTest {
  private static final ConnectionId IMPORT = new ConnectionId("import", 7, 1);

  private RangeHarness h = new RangeHarness();

  private Outcome begin(String user, List<Integer> received, InboxMessage... messages) {
    return begin(IMPORT, user, received, messages);
  }

  private Outcome begin(ConnectionId connection, String user, List<Integer> received, InboxMessage... messages) {
    return h.apply(
        new SessionCommand.Import(h.now, new InboxClient.Connect(RangeHarness.TENANT, "c", user, connection, false, true, 1, null), received, List.of(messages)));
  }

  private InboxMessage waiting(long sequence, QoS qos, String payload, boolean released, boolean sent) {
    return new InboxMessage(sequence, qos, false, released, sent, new int[] {3, 9}, h.message("p", "a", qos, payload));
  }

  private InboxMessage waiting(long sequence, String payload) {
    return waiting(sequence, QoS.AT_LEAST_ONCE, payload, false, false);
  }

  private SessionRef end(Outcome begun, long expirySeconds) {
    SessionRef session = ((Outcome.Imported) begun).session();
    assertThat(h.apply(new SessionCommand.Disconnect(h.now, session, false, expirySeconds, 0))).isEqualTo(new Outcome.Done());
    return session;
  }

  @Test
  void anInboxIsAsItWas() {
    Outcome begun =
        begin(
            "u", List.of(4, 65_535), waiting(70_000, QoS.EXACTLY_ONCE, "released", true, true), waiting(70_003, QoS.EXACTLY_ONCE, "sent", false, true),
            waiting(70_010, "waits"));
    assertThat(begun).isInstanceOfSatisfying(Outcome.Imported.class, done -> assertThat(List.of(done.stored(), done.refused())).containsExactly(3, 0));
    assertThat(h.subscribe(((Outcome.Imported) begun).session(), "a", QoS.AT_LEAST_ONCE)).isInstanceOf(Outcome.Existed.class);
    end(begun, 3_600);
    h.reopen();
    h.publish("a", "later");

    assertThat(h.connectAs("other", "c", false, 60)).isInstanceOf(Outcome.OtherUser.class);
    Connected connected = ((Outcome.Connected) h.connectAs("u", "c", false, 60)).connected();

    assertThat(connected.sessionPresent()).isTrue();
    assertThat(connected.receivedPacketIds()).containsExactly(4, 65_535);
    assertThat(connected.openExchanges()).isEmpty();
    assertThat(connected.firstUnacknowledged()).isEqualTo(70_000);
    assertThat(connected.nextSequence()).isEqualTo(70_012);
    List<InboxMessage> messages = h.fetch(connected.session()).messages();
    assertThat(messages).extracting(RangeHarness::text).containsExactly("released", "sent", "waits", "later");
    assertThat(messages).extracting(InboxMessage::sequence).containsExactly(70_000L, 70_003L, 70_010L, 70_011L);
    assertThat(messages).extracting(InboxMessage::released).containsExactly(true, false, false, false);
    assertThat(messages).extracting(InboxMessage::delivered).containsExactly(true, true, false, false);
    assertThat(messages.getFirst().subscriptionIdentifiers()).containsExactly(3, 9);
    h.acknowledge(connected.session(), 70_000, 70_003, 70_010, 70_011);
    h.assertBalance();
    assertThat(h.inbox(connected.session())).isEmpty();
  }

  @Test
  void aSessionExpiresAsItWouldHave() {
    end(begin("", List.of(), waiting(1, "x")), 10);
    h.now += 9_000;
    h.apply(new SessionCommand.Tick(h.now, 100, 100));
    assertThat(h.range.state().sessions).hasSize(1);
    h.now += 2_000;
    h.apply(new SessionCommand.Tick(h.now, 100, 100));
    assertThat(h.range.state().sessions).isEmpty();
  }

  @Test
  void whatComesAgainIsStoredOnce() {
    begin("", List.of(1), waiting(5, "a"), waiting(6, "b"));
    begin("", List.of(1), waiting(5, "a"), waiting(6, "b"), waiting(9, "c"));
    Outcome again = begin(new ConnectionId("import", 7, 2), "", List.of(), waiting(9, "c"), waiting(10, "d"));

    assertThat(again).isInstanceOfSatisfying(Outcome.Imported.class, done -> assertThat(done.stored()).isEqualTo(1));
    assertThat(h.inbox(((Outcome.Imported) again).session())).containsExactly("a", "b", "c", "d");
  }

  @Test
  void sessionsThatAreThereAreLeftAlone() {
    Connected client = h.connect("c");
    assertThat(begin("", List.of(), waiting(1, "x"))).isEqualTo(new Outcome.Stale());
    h.disconnect(client.session(), false, 60);
    assertThat(begin("", List.of(2), waiting(1, "x"))).isEqualTo(new Outcome.Stale());
    assertThat(h.inbox(client.session())).isEmpty();
    assertThat(h.state(client.session()).hasReceived(2)).isFalse();
    h.now += 61_000;
    assertThat(begin("", List.of(), waiting(1, "x"))).as("it has expired").isInstanceOf(Outcome.Imported.class);
    assertThat(begin(new ConnectionId("import", 8, 1), "", List.of())).as("another life").isEqualTo(new Outcome.Stale());
  }

  @Test
  void aSessionWhoseImportIsLostEnds() {
    begin("", List.of(1), waiting(1, "x"));
    h.apply(new SessionCommand.FrontendGone(h.now, "import", 8, 100));
    h.now += 1_001;
    h.apply(new SessionCommand.Tick(h.now, 100, 100));

    assertThat(h.range.state().sessions).isEmpty();
    h.assertBalance();
  }

  @Test
  void aClientThatConnectsInBetweenHasTheSession() {
    begin("", List.of(), waiting(1, "x"));
    Connected client = h.connect("c", false, 60, null);

    assertThat(client.sessionPresent()).isTrue();
    assertThat(begin("", List.of(), waiting(2, "y"))).isEqualTo(new Outcome.Stale());
    assertThat(h.inbox(client.session())).containsExactly("x");
  }

  @Test
  void aFullInboxRefusesOrDropsByItsPolicy() {
    h = new RangeHarness(RangeHarness.limits(2, OverflowPolicy.REJECT));
    Outcome rejects = begin("", List.of(), waiting(1, "a"), waiting(2, "b"), waiting(3, "c"), waiting(4, "d"));
    assertThat(rejects).isInstanceOfSatisfying(Outcome.Imported.class, done -> assertThat(List.of(done.stored(), done.refused())).containsExactly(2, 2));
    assertThat(h.inbox(end(rejects, 60))).containsExactly("a", "b");
    h.assertBalance();

    h = new RangeHarness(RangeHarness.limits(2, OverflowPolicy.DROP_OLDEST));
    Outcome drops = begin("", List.of(), waiting(1, "a"), waiting(2, "b"), waiting(3, "c"), waiting(4, "d"));
    assertThat(drops).isInstanceOfSatisfying(Outcome.Imported.class, done -> assertThat(List.of(done.stored(), done.refused())).containsExactly(4, 0));
    assertThat(h.inbox(end(drops, 60))).containsExactly("c", "d");
    h.assertBalance();
  }

  @Test
  void aReplicaThatStartsInBetweenHasTheSameRows() {
    List<InboxMessage> messages = List.of(waiting(5, QoS.EXACTLY_ONCE, "a", false, true), waiting(8, "b"));
    RangeHarness first = h;
    Outcome begun = begin("u", List.of(1), messages.toArray(InboxMessage[]::new));
    end(begun, 60);
    first.write();

    h = new RangeHarness();
    begun = begin("u", List.of(1), messages.toArray(InboxMessage[]::new));
    h.reopen();
    end(begun, 60);
    h.write();

    assertThat(h.rows.dump()).isEqualTo(first.rows.dump());
  }

  @Test
  void whatIsNoImportIsNotMade() {
    var durable = new InboxClient.Connect(RangeHarness.TENANT, "c", "", IMPORT, false, true, 1, null);
    var transientOne = new InboxClient.Connect(RangeHarness.TENANT, "c", "", IMPORT, false, false, 0, null);
    assertThatThrownBy(() -> new SessionCommand.Import(1, transientOne, List.of(), List.of())).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new SessionCommand.Import(1, durable, List.of(0), List.of())).isInstanceOf(IllegalArgumentException.class);
    for (InboxMessage wrong :
        List.of(
            waiting(0, "x"), waiting(SessionExports.SEQUENCE_MAX + 1, "x"), waiting(1, QoS.AT_MOST_ONCE, "x", false, false),
            waiting(1, QoS.AT_LEAST_ONCE, "x", true, false))) {
      assertThatThrownBy(() -> new SessionCommand.Import(1, durable, List.of(), List.of(wrong))).isInstanceOf(IllegalArgumentException.class);
    }
  }
}
