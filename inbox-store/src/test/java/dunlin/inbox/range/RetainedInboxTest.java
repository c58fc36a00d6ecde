package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Retained messages on their way through an inbox. */
final class RetainedInboxTest {
  private final RangeHarness h = new RangeHarness();

  @Test
  void retainedMessagesComeWithRetainSetAndTheSubscriptionsIdentifier() {
    var session = h.connect("c").session();
    var options = new SubscriptionOptions(QoS.AT_LEAST_ONCE, false, false, 0, 4);

    h.apply(
        new SessionCommand.AppendTo(
            h.now,
            session,
            options,
            1,
            List.of(h.message("p", "a", QoS.EXACTLY_ONCE, "r1"), h.message("p", "b", QoS.AT_LEAST_ONCE, "r2"))));

    assertThat(h.pushed()).containsExactly("c:r1", "c:r2");
    assertThat(h.fetch(session).messages())
        .allMatch(each -> each.retain() && each.qos() == QoS.AT_LEAST_ONCE)
        .allMatch(each -> each.subscriptionIdentifiers()[0] == 4);
  }

  @Test
  void aRetainedMessageIsAppendedBehindAnExpiredOneWhenItIsReadAgain() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    h.disconnect(session, false, 3600);
    h.publish(h.expiring("a", "late", 1));
    h.now += 1_000;
    var again = h.connect("c").session();
    h.apply(new SessionCommand.Acknowledge(again, new long[] {1}, true));

    var command = new SessionCommand.AppendTo(h.now, again, SubscriptionOptions.of(QoS.AT_LEAST_ONCE), 1, List.of(h.retained("p", "b", "r")));
    var first = ((Outcome.Appended) h.apply(command)).appended();
    assertThat(first.taken()).containsExactly(false);
    assertThat(first.next()).isEqualTo(2);
    assertThat(h.appendTo(again, first.next(), h.retained("p", "b", "r"))).containsExactly(true);
  }

  @Test
  void aRetainedMessageIsNotAppendedBehindANewerLiveMessage() {
    var session = h.connect("c").session();
    h.subscribe(session, "#", QoS.AT_LEAST_ONCE);
    h.publish(h.retained("p", "a", "a1"));
    h.publish(h.message("p", "b", QoS.AT_LEAST_ONCE, "no retained message"));

    assertThat(h.appendTo(session, 1, h.retained("p", "a", "a0"), h.retained("p", "b", "b0"))).containsExactly(false, true);
    assertThat(h.appendTo(session, 2, h.retained("p", "a", "a1"))).containsExactly(true);

    assertThat(h.inbox(session)).containsExactly("a1", "no retained message", "b0", "a1");
    h.assertBalance();
  }

  @Test
  void aRestartKnowsWhichTopicsHaveChangedSinceRetainedMessagesWereRead() {
    var session = h.connect("c").session();
    h.subscribe(session, "#", QoS.AT_LEAST_ONCE);
    h.publish(h.retained("p", "a", "a1"));
    h.reopen();

    assertThat(h.appendTo(session, 1, h.retained("p", "a", "a0"), h.retained("p", "b", "b0"))).containsExactly(false, true);
    assertThat(h.inbox(session)).containsExactly("a1", "b0");
  }

  @Test
  void retainedMessagesAreLeftOutWhenItIsUnknownWhatWasAppendedSinceTheyWereRead() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    h.publish(h.retained("p", "a", "a1"));
    h.acknowledge(session, 1);

    assertThat(h.appendTo(session, 1, h.retained("p", "a", "a0"))).as("gone").containsExactly(false);

    for (int i = 0; i <= Appender.SINCE_MAX; i++) h.publish("a", "m" + i);
    assertThat(h.appendTo(session, 2, h.retained("p", "a", "a1"))).as("too many").containsExactly(false);
    assertThat(h.appendTo(session, 3, h.retained("p", "a", "a1"))).containsExactly(true);
    var last = h.fetch(session, h.state(session).nextSequence() - 2, 10).messages();
    assertThat(last).extracting(RangeHarness::text).containsExactly("m" + Appender.SINCE_MAX, "a1");
  }
}
