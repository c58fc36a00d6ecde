package dunlin.admin.peers;

import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.SessionFigure;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.server.InboxServer;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The sessions of a cluster that has several ranges of them: a question about one client goes to the leader of its range, and one about all goes to every leader. */
final class SessionsOfRanges implements SessionsMXBean {
  /*
   * The first rows behind a place in all ranges are among the first ones behind it in each, so pages need no cursor of their own.
   *
   * Owner: any thread that may block; keeps nothing.
   * Bounds: a page of each range at a time.
   * Failure: a question about all sessions fails when one leader does not answer: an answer without its rows would look like a whole one. What was deleted before stays
   *   deleted.
   */
  private final Layout layout;
  private final IntFunction<SessionsMXBean> ranges;

  /** @param ranges the bean of a range, by its number */
  SessionsOfRanges(Layout layout, IntFunction<SessionsMXBean> ranges) {
    this.layout = layout;
    this.ranges = ranges;
  }

  private SessionsMXBean of(String tenant, String clientId) {
    return ranges.apply(layout.rangeOf(InboxServer.shardOf(layout.shards(), tenant, clientId).number()));
  }

  private Stream<SessionsMXBean> all() {
    return IntStream.range(0, layout.ranges()).mapToObj(ranges);
  }

  private <T> List<T> first(Function<SessionsMXBean, List<T>> question, Comparator<T> order, int max) {
    return all().flatMap(range -> question.apply(range).stream()).sorted(order).limit(max).toList();
  }

  @Override
  public int getSessions() {
    return all().mapToInt(SessionsMXBean::getSessions).sum();
  }

  @Override
  public List<SessionRow> list(String tenant, String prefix, String after, int max) {
    return first(range -> range.list(tenant, prefix, after, max), Comparator.comparing(SessionRow::clientId), max);
  }

  @Override
  public List<SessionRow> top(SessionFigure by, int max) {
    return first(range -> range.top(by, max), by.mostFirst(), max);
  }

  @Override
  public List<SubscriberRow> subscribers(String tenant, String filter, String after, int max) {
    return first(range -> range.subscribers(tenant, filter, after, max), Comparator.comparing(SubscriberRow::clientId), max);
  }

  @Override
  public List<GroupOfSessions> groups(String tenant, String after, int max) {
    var first = new TreeMap<String, GroupOfSessions>();
    all().flatMap(range -> range.groups(tenant, after, max).stream()).forEach(group -> first.merge(group.filter(), group, GroupOfSessions::and));
    return first.values().stream().limit(max).toList();
  }

  @Override
  public List<GroupOfSessions> group(String tenant, String filter) {
    return all().flatMap(range -> range.group(tenant, filter).stream()).toList();
  }

  @Override
  public List<SessionOutlook> outlook(String tenant, String clientId, String topic) {
    return of(tenant, clientId).outlook(tenant, clientId, topic);
  }

  @Override
  public List<SubscriptionRow> subscriptions(String tenant, String clientId, String after, int max) {
    return of(tenant, clientId).subscriptions(tenant, clientId, after, max);
  }

  @Override
  public MessagePage messages(String tenant, String clientId, long after, int max) {
    return of(tenant, clientId).messages(tenant, clientId, after, max);
  }

  @Override
  public List<WaitingMessage> message(String tenant, String clientId, long sequence) {
    return of(tenant, clientId).message(tenant, clientId, sequence);
  }

  @Override
  public boolean disconnect(String tenant, String clientId) {
    return of(tenant, clientId).disconnect(tenant, clientId);
  }

  @Override
  public int delete(String tenant, String prefix, int max) {
    int deleted = ranges.apply(0).delete(tenant, prefix, max); // also refuses a max that is none
    for (int i = 1; i < layout.ranges() && deleted < max; i++) deleted += ranges.apply(i).delete(tenant, prefix, max - deleted);
    return deleted;
  }

  @Override
  public boolean deleteOne(String tenant, String clientId) {
    return of(tenant, clientId).deleteOne(tenant, clientId);
  }
}
