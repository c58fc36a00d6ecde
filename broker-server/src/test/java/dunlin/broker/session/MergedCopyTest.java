package dunlin.broker.session;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dunlin.broker.OpenFrontend;
import dunlin.broker.fanout.Subscriber;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MergedCopyTest {
  private final OpenFrontend open = new OpenFrontend(1);
  private final LiveSession session = OpenFrontend.sessionOf(open.subscriber(0, OpenFrontend.handle("t", 1), "s"));
  private final MergedCopy merged = new MergedCopy();

  @AfterAll
  void closes() {
    open.close();
  }

  private Subscriber subscriber(QoS qos, boolean retainAsPublished, int identifier) {
    return new Subscriber(session, OpenFrontend.handle("t", 1), new SubscriptionOptions(qos, true, retainAsPublished, 0, identifier));
  }

  @Test
  @Tag("MQTT-3.3.4-2")
  @Tag("MQTT-3.3.4-4")
  void severalSubscriptionsGetTheHighestQosAndAllIdentifiers() {
    assertThat(merged.add(subscriber(QoS.AT_LEAST_ONCE, false, 7))).isTrue();
    assertThat(merged.add(subscriber(QoS.EXACTLY_ONCE, false, 0))).isFalse();
    assertThat(merged.add(subscriber(QoS.AT_MOST_ONCE, true, 9))).isFalse();

    assertThat(merged.identifiers()).containsExactly(7, 9);
    assertThat(merged.take()).isEqualTo(new SubscriptionOptions(QoS.EXACTLY_ONCE, false, true, 0, 0));
    assertThat(merged.take()).isNull();
  }

  @Test
  void aSingleSubscriptionIsUsedUnchanged() {
    Subscriber only = subscriber(QoS.AT_LEAST_ONCE, true, 5);
    merged.add(only);

    assertThat(merged.take()).isEqualTo(only.options());
    assertThat(merged.identifiers()).containsExactly(5);
  }

  @Test
  void aResultDoesNotChangeWithTheNextMessage() {
    for (int i = 1; i <= 3; i++) merged.add(subscriber(QoS.AT_LEAST_ONCE, false, i));
    int[] before = merged.identifiers();
    merged.take();

    for (int i = 11; i <= 13; i++) merged.add(subscriber(QoS.AT_LEAST_ONCE, false, i));

    assertThat(before).containsExactly(1, 2, 3);
    assertThat(merged.identifiers()).containsExactly(11, 12, 13);
    merged.take();
  }

  @Test
  void tenThousandOverlappingSubscriptionsAreNotCopiedForEachOfThem() {
    List<Subscriber> all = new ArrayList<>();
    for (int i = 1; i <= 10_000; i++) all.add(subscriber(QoS.AT_LEAST_ONCE, false, i));
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    long before = threads.getCurrentThreadAllocatedBytes();
    for (Subscriber each : all) merged.add(each);
    int[] identifiers = merged.identifiers();
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;

    assertThat(identifiers).containsExactly(IntStream.rangeClosed(1, 10_000).toArray());
    merged.take();
    assertThat(allocated).isLessThan(1 << 20); // copying all for each of them would take 200 MB
  }
}
