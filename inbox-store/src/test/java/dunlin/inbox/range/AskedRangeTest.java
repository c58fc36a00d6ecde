package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.between.AskedRange;
import dunlin.inbox.between.OtherRange.Birth;
import dunlin.inbox.between.OtherRange.Sums;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.QoS;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What the leader of one range answers those of others. */
final class AskedRangeTest {
  private static final ShardInterval INTERVAL = ShardInterval.divide(RangeHarness.SHARDS, 2).getFirst();

  private final RangeHarness h = new RangeHarness(INTERVAL);

  private AskedRange asked() {
    return new AskedRange(h.range.state(), command -> CompletableFuture.completedFuture(h.apply(command)), () -> Instant.ofEpochMilli(h.now));
  }

  private static String client(boolean here) {
    for (int i = 0; ; i++) if (INTERVAL.contains(new SessionKey(RangeHarness.TENANT, "c" + i).shard(RangeHarness.SHARDS)) == here) return "c" + i;
  }

  private boolean hasEnded(String client, long birth) {
    return asked().ended(List.of(new Birth(RangeHarness.TENANT, client, birth))).join().getFirst();
  }

  private boolean hasEnded(Connected of) {
    return hasEnded(of.session().clientId(), of.birth());
  }

  @Test
  void aSessionHasEndedWhenItIsThereNoMore() {
    var session = h.connect(client(true));
    assertThat(hasEnded(session)).isFalse();
    h.disconnect(session.session(), false, 3600);
    assertThat(hasEnded(session)).as("it waits for its client").isFalse();
    h.reopen();
    assertThat(hasEnded(session)).isFalse();

    h.disconnect(h.connect(client(true)).session(), false, 0);
    assertThat(hasEnded(session)).isTrue();
    h.reopen();
    assertThat(hasEnded(session)).isTrue();
  }

  @Test
  void aSessionWithALaterConnectionLives() {
    var session = h.connect(client(true));
    var later = h.connect(client(true));

    assertThat(later.birth()).isEqualTo(session.birth());
    assertThat(later.session().epoch()).isGreaterThan(session.session().epoch());
    assertThat(hasEnded(session)).isFalse();
  }

  @Test
  void aLaterSessionOfTheSameClientIsAnotherOne() {
    var session = h.connect(client(true));
    var later = h.connect(client(true), true, 3600, null);

    assertThat(hasEnded(session)).isTrue();
    assertThat(hasEnded(later)).isFalse();
  }

  @Test
  void aSessionThatThisReplicaCannotKnowYetHasNotEnded() {
    long birth = h.connect(client(true)).birth();

    assertThat(hasEnded(client(true), birth + (1L << 12))).as("the next epoch of the shard").isFalse();
    assertThat(hasEnded(client(false), 1)).as("of another range").isFalse();
  }

  @Test
  void itSaysWhatItsSessionsHave() {
    var asked = asked();
    assertThat(asked.sums().join()).isEqualTo(Sums.NONE);
    h.subscribe(h.connect(client(true)).session(), "a", QoS.AT_LEAST_ONCE);
    h.publish("a", "m");

    var sums = asked.sums().join();

    assertThat(sums.durable()).isEqualTo(1);
    assertThat(sums.memory()).isEqualTo(h.range.state().memory.get()).isPositive();
    assertThat(sums.messageBytes()).isEqualTo(h.range.state().queuedBytes.get()).isPositive();
  }
}
