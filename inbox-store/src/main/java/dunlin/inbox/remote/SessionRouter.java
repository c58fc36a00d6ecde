package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.runtime.Failures;
import dunlin.store.OutcomeUnknownException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The session tier of other processes, whose ranges are led, and lost, one by one: passes each call to the links to the leader of the range that has the session.
 * Calls for one range keep their order.
 */
public final class SessionRouter implements InboxClient, AutoCloseable {
  /*
   * Owner: any thread; it has no state of its own.
   * Bounds: those of SessionLinks, for each range.
   * Failure: while a range has no leader, calls for its sessions wait and fail as SessionLinks says, and its connections are given up by themselves. Other
   *   ranges notice nothing. statistics() needs all ranges.
   */
  private final List<SessionLinks> links;
  private final int[] rangeOfShard;

  /** @param links those to the leader of each range, from 0 */
  public SessionRouter(InboxSettings.Layout layout, IntFunction<SessionLinks> links) {
    this.links = IntStream.range(0, layout.ranges()).mapToObj(links).toList();
    rangeOfShard = ShardInterval.rangeOfShard(ShardInterval.divide(layout.shards(), layout.ranges()));
  }

  /**
   * Begins the first link to each range. Completes when all ranges have attached the frontend for the first time. Any thread, once.
   *
   * @param life of the frontend's connections in each range
   */
  public CompletableFuture<Void> begin(IntToLongFunction life) {
    return CompletableFuture.allOf(
        IntStream.range(0, links.size()).mapToObj(range -> links.get(range).begin(life.applyAsLong(range))).toArray(CompletableFuture<?>[]::new));
  }

  /** Ends all connections of all ranges, and begins their next lives. Any thread. */
  public void lose(String reason) {
    for (var each : links) each.lose(reason);
  }

  /** Whether the leaders of all ranges have attached the frontend. Any thread. */
  public boolean isReached() {
    return links.stream().allMatch(SessionLinks::isReached);
  }

  /** Ends all links, for the tier as if they were lost. The frontend's connections are left to the frontend. */
  @Override
  public void close() {
    for (var each : links) each.close();
  }

  @Override
  public List<InboxClient> ranges() {
    return List.copyOf(links);
  }

  @Override
  public int rangeOf(String tenant, String clientId) {
    return rangeOfShard[SessionKey.shard(rangeOfShard.length, tenant, clientId)];
  }

  private SessionLinks of(SessionRef session) {
    return links.get(rangeOf(session.tenant(), session.clientId()));
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request) {
    return connect(request, new CompletableFuture<>());
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request, CompletableFuture<Void> over) {
    return links.get(rangeOf(request.tenant(), request.clientId())).connect(request, over);
  }

  @Override
  public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
    return of(session).subscribe(session, subscriptions);
  }

  @Override
  public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
    return of(session).unsubscribe(session, filters);
  }

  @Override
  public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
    return of(session).disconnect(session, publishWill, sessionExpirySeconds);
  }

  /** Completes when that is so in all ranges; a caller that knows the range asks only that one, by {@link #ranges}. */
  @Override
  public CompletableFuture<Void> settled(ConnectionId displaced) {
    return CompletableFuture.allOf(links.stream().map(each -> each.settled(displaced)).toArray(CompletableFuture<?>[]::new));
  }

  /** Reports it to all ranges; a caller that knows the range reports it to that one, by {@link #ranges}. */
  @Override
  public void missing(ConnectionId connection) {
    for (var each : links) each.missing(connection);
  }

  @Override
  public CompletableFuture<Appended> append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    return of(session).append(session, options, from, retained);
  }

  /** Asks one range after the other until one has durable members of the group, beginning with the same one for each publisher. */
  @Override
  public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    int first = Math.floorMod(message.publisher().clientId().hashCode(), links.size());
    return links.size() == 1 ? links.getFirst().appendToGroup(group, message, exchange) : appendToGroup(group, message, exchange, first, 0, null);
  }

  /** @param failure of one of the ranges that were asked before, which surely has not taken the message */
  private CompletableFuture<Boolean> appendToGroup(
      TopicFilter group, Publication message, @Nullable OpenExchange exchange, int first, int asked, @Nullable Throwable failure) {
    if (asked == links.size()) return failure == null ? CompletableFuture.completedFuture(false) : CompletableFuture.failedFuture(failure);
    return links
        .get((first + asked) % links.size())
        .appendToGroup(group, message, exchange)
        .handle(
            (taken, refusal) -> {
              if (refusal == null) return taken ? CompletableFuture.completedFuture(true) : appendToGroup(group, message, exchange, first, asked + 1, failure);
              Throwable why = Failures.unwrapped(refusal);
              if (why instanceof OutcomeUnknownException) return CompletableFuture.<Boolean>failedFuture(why);
              return appendToGroup(group, message, exchange, first, asked + 1, why);
            })
        .thenCompose(Function.identity());
  }

  @Override
  public void acknowledge(SessionRef session, long[] sequences) {
    of(session).acknowledge(session, sequences);
  }

  @Override
  public CompletableFuture<Void> received(SessionRef session, long sequence) {
    return of(session).received(session, sequence);
  }

  /** Has all other ranges forget the exchange first: while one of them has no leader, it waits, and it fails as a call of that range does. */
  @Override
  public CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
    var home = of(session);
    if (links.size() == 1) return home.released(session, birth, packetId);
    return forgetElsewhere(home, session, birth, packetId).thenCompose(_ -> home.released(session, birth, packetId));
  }

  @Override
  public CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
    return forgetElsewhere(of(session), session, birth, packetId);
  }

  /** Also where its message has not come to: what comes there late must be refused, or it would be remembered for ever. */
  private CompletableFuture<Void> forgetElsewhere(SessionLinks home, SessionRef session, long birth, int packetId) {
    return CompletableFuture.allOf(
        links.stream().filter(each -> !each.equals(home)).map(each -> each.forget(session, birth, packetId)).toArray(CompletableFuture<?>[]::new));
  }

  @Override
  public CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
    return of(session).delivered(session, packetIds);
  }

  @Override
  public CompletableFuture<Boolean> isTakenOver(SessionRef session) {
    return of(session).isTakenOver(session);
  }

  @Override
  public CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
    return of(session).fetch(session, fromSequence, messagesMax, bytesMax);
  }

  @Override
  public CompletableFuture<Statistics> statistics() {
    var asked = links.stream().map(InboxClient::statistics).toList();
    if (asked.size() == 1) return asked.getFirst();
    return CompletableFuture.allOf(asked.toArray(CompletableFuture<?>[]::new))
        .thenApply(_ -> asked.stream().map(CompletableFuture::join).reduce(Statistics.NONE, Statistics::plus));
  }
}
