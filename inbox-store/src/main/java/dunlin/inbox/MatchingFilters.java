package dunlin.inbox;

import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Divides the subscriptions of one session into those that match a topic and others, for an operator. */
public final class MatchingFilters {
  /*
   * Owner: its maker.
   * Bounds: MATCHING_MAX subscriptions that match and OTHERS_MAX filters that do not; further ones are not kept.
   */
  /** The most subscriptions that match. */
  public static final int MATCHING_MAX = 100;

  private static final int OTHERS_MAX = 5;

  private final String topic;
  private final List<SubscriptionRow> matching = new ArrayList<>();
  private final List<String> others = new ArrayList<>();

  public MatchingFilters(String topic) {
    this.topic = topic;
  }

  /** Answers whether it matches. */
  public boolean offer(TopicFilter filter, SubscriptionOptions options) {
    boolean matches = filter.matches(topic);
    if (!matches && others.size() < OTHERS_MAX) others.add(filter.text());
    if (matches && matching.size() < MATCHING_MAX) matching.add(SubscriptionRow.of(filter.text(), options));
    return matches;
  }

  /** Those that match, by their topic filters. */
  public List<SubscriptionRow> matching() {
    return matching.stream().sorted(Comparator.comparing(SubscriptionRow::filter)).toList();
  }

  /** The filters of some of those that do not match. */
  public List<String> others() {
    return others.stream().sorted().toList();
  }
}
