package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.RangeHarness;
import dunlin.inbox.rows.SessionCommand.Acknowledge;
import dunlin.model.QoS;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

final class SessionExpirySweepTest {
  private final RangeHarness h = new RangeHarness(new InboxLimits(10_000, 1 << 24, OverflowPolicy.DROP_OLDEST, 100, 4, Sums.ofSessions(1_000)));
  private final List<Acknowledge> found = new ArrayList<>();
  private SessionExpirySweep sweep = sweepOver(h);

  private SessionExpirySweep sweepOver(RangeHarness range) {
    return new SessionExpirySweep(range.range.state(), (session, sequences) -> found.add(new Acknowledge(session, sequences, true)));
  }

  private SessionRef absent(String client) {
    var session = h.connect(client).session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    h.disconnect(session, false, 100_000);
    return session;
  }

  /** Sweeps over all sessions and applies what was found; answers how many steps found or read something. */
  private int sweepAll() {
    int steps = 0;
    int idle = 0;
    while (idle < 2) {
      found.clear();
      h.rows.countAnew();
      sweep.step(h.rows, h.now);
      assertThat(h.rows.rowsRead).isLessThanOrEqualTo(SessionExpirySweep.HEADERS_MAX + 1);
      assertThat(h.rows.gets).isZero();
      if (h.rows.scans == 0) idle++;
      else steps++;
      for (Acknowledge each : List.copyOf(found)) h.apply(each);
    }
    return steps;
  }

  @Test
  @Tag("MQTT-3.3.2-5")
  void expiredMessagesOfAbsentSessionsAreRemovedAndCounted() {
    var one = absent("one");
    var two = absent("two");
    h.publish(h.expiring("a", "late", 10));
    h.publish("a", "lasting");
    h.publish(h.expiring("a", "later", 100));
    assertThat(sweepAll()).as("steps before anything is due").isZero();

    h.now += 10_000;
    sweepAll();

    assertThat(h.dropped).containsOnly(Map.entry(InboxDropReason.EXPIRED, 2));
    assertThat(h.state(one).waiting()).isEqualTo(2);
    assertThat(h.state(two).waiting()).isEqualTo(2);
    assertThat(sweepAll()).as("steps while nothing more is due").isZero();
    h.now += 100_000;
    sweepAll();
    assertThat(h.state(one).waiting()).isEqualTo(1);
    assertThat(h.dropped).containsEntry(InboxDropReason.EXPIRED, 4);
    h.assertBalance();
  }

  @Test
  void expiredMessagesAreFoundAfterARestart() {
    var one = absent("one");
    h.publish(h.expiring("a", "late", 10));

    h.reopen();
    sweep = sweepOver(h);
    h.now += 10_000;
    sweepAll();

    assertThat(h.state(one).waiting()).isZero();
    assertThat(h.dropped).containsEntry(InboxDropReason.EXPIRED, 1);
  }

  @Test
  void aLargeInboxTakesSeveralSteps() {
    var one = absent("one");
    for (int i = 0; i < 1_250; i++) {
      h.publish(h.expiring("a", "late", 10));
      h.publish("a", "lasting");
    }

    h.now += 10_000;

    assertThat(sweepAll()).isEqualTo(3);
    assertThat(h.state(one).waiting()).isEqualTo(1_250);
    h.assertBalance();
  }

  @Test
  void messagesThatMayHaveBeenSentAndConnectedSessionsAreNotTouched() {
    var one = absent("one");
    h.publish(h.expiring("a", "begun", 10));
    h.state(one).sentBelow(2);
    h.publish(h.expiring("a", "late", 10));
    var online = h.connect("two").session();
    h.subscribe(online, "b", QoS.AT_LEAST_ONCE);
    h.publish(h.expiring("b", "on its way", 10));

    h.now += 10_000;
    sweepAll();

    assertThat(h.state(one).waiting()).isEqualTo(1);
    assertThat(h.state(online).waiting()).isEqualTo(1);
    assertThat(h.dropped).containsEntry(InboxDropReason.EXPIRED, 1);
  }

  @Test
  void aSessionThatHasReconnectedIsNotTouched() {
    var one = absent("one");
    h.publish(h.expiring("a", "late", 10));
    h.now += 10_000;

    for (int i = 0; i < 2; i++) sweep.step(h.rows, h.now); // the first step is at the end of the previous sessions
    h.connect("one");
    for (Acknowledge each : found) h.apply(each);

    assertThat(found).hasSize(1);
    assertThat(h.state(one).waiting()).isEqualTo(1);
    assertThat(h.dropped).isEmpty();
  }
}
