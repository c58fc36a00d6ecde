package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.state.Matcher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class MatcherTest {
  private static final int OVERLAPPING = 4_096;

  private final RangeHarness h = new RangeHarness(new InboxLimits(10, 1 << 20, OverflowPolicy.REJECT, 10_000, 4, Sums.ofSessions(1_000)));

  /** Filters that all match one topic: each level is the topic's level or a plus sign. */
  private static String topicAndFilters(List<Subscription> filters) {
    for (int i = 0; i < OVERLAPPING; i++) {
      var filter = new StringBuilder();
      for (int level = 0; level < 12; level++) filter.append(level == 0 ? "" : "/").append((i >> level & 1) == 0 ? "a" : "+");
      var options = new SubscriptionOptions(QoS.AT_LEAST_ONCE, false, false, 0, i + 1);
      filters.add(new Subscription(RangeHarness.filter(filter.toString()), options));
    }
    return "a" + "/a".repeat(11);
  }

  @Test
  void thousandsOfOverlappingSubscriptionsAreNotCopiedForEachOfThem() {
    var session = h.connect("c").session();
    var filters = new ArrayList<Subscription>();
    String topic = topicAndFilters(filters);
    h.apply(new SessionCommand.Subscribe(session, filters));
    var message = h.message("p", topic, QoS.AT_LEAST_ONCE, "m");
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    long before = threads.getCurrentThreadAllocatedBytes();
    var matches = Matcher.match(h.range.state().index, message);
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;

    assertThat(matches).hasSize(1);
    var match = matches.iterator().next();
    assertThat(match.identifiers()).containsExactly(IntStream.rangeClosed(1, OVERLAPPING).toArray());
    assertThat(allocated).isLessThan(1 << 20); // copying all for each of them would take 33 MB
  }
}
