package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.QuotaExceededException;
import dunlin.model.QoS;
import dunlin.runtime.memory.HeapGuard;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions and subscriptions while the leader's heap has no room for more. */
final class FullHeapTest {
  private double live;
  private final HeapGuard heap = new HeapGuard(() -> new HeapGuard.Found(live, HeapGuard.Found.EXACT, 0), 80);

  private void look(double share) {
    live = share;
    heap.look();
  }

  private static InboxSettings withMemory() {
    var usual = InboxSettings.defaults();
    return new InboxSettings(
        usual.layout(), usual.messagesMax(), usual.bytesMax(), usual.overflow(), usual.subscriptionsMax(), usual.groupWindow(),
        new InboxSettings.Sums(usual.sums().sessions(), 1 << 30, usual.sums().messageBytes()));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void whatIsThereStaysAndNothingNewComes(int ranges) throws Exception {
    try (var node = new InboxNode(null, ranges, withMemory())) {
      node.server.guard(heap);
      var session = node.connect("before").session();
      node.subscribe(session, "a", QoS.AT_LEAST_ONCE);

      look(0.9);

      assertThatThrownBy(() -> node.connect("new")).cause().isInstanceOfSatisfying(QuotaExceededException.class, full -> assertThat(full.kind()).isEqualTo(QuotaExceededException.Kind.MEMORY));
      assertThatThrownBy(() -> node.subscribe(session, "b", QoS.AT_LEAST_ONCE)).hasCauseInstanceOf(QuotaExceededException.class);
      assertThat(node.subscribe(session, "a", QoS.EXACTLY_ONCE)).as("a subscription that is there can change").isNotEmpty();
      assertThat(node.connect("before").sessionPresent()).isTrue();

      look(0.5);
      node.connect("new");
    }
  }
}
