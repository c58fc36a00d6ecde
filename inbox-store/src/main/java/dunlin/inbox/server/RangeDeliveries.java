package dunlin.inbox.server;

import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.inbox.between.RecordedAppends;
import dunlin.inbox.propose.Proposals;
import dunlin.inbox.rows.SessionKey;
import dunlin.model.Publication;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** Delivers messages to the ranges of one server, and releases the exchanges that these belong to. With one range, only that one is asked. */
final class RangeDeliveries {
  /*
   * Owner: any thread, none blocks; messages of one thread keep their order.
   * Bounds: those of Exchanges, and of each range.
   * Failure: an exchange whose message one range refuses is not recorded, and one that a range cannot forget is not released.
   */
  private final List<InboxRangeServer> ranges;
  private final boolean hasAll;
  private final @Nullable RecordedAppends recorded;
  private final ToIntFunction<SessionKey> home;
  private final Exchanges exchanges = new Exchanges();

  /**
   * @param recorded stores messages of groups that a record knows of, if there are ranges of other servers: these are one range then
   * @param home the number of the range that has a session
   */
  RangeDeliveries(List<InboxRangeServer> ranges, @Nullable RecordedAppends recorded, ToIntFunction<SessionKey> home) {
    this.ranges = ranges;
    this.recorded = recorded;
    hasAll = recorded == null;
    this.home = home;
  }

  Exchanges exchanges() {
    return exchanges;
  }

  /** {@link InboxServer#deliver(Publication, List, Acknowledgement)}. */
  void deliver(Publication message, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement) {
    var only = ranges.getFirst();
    var exchange = message.exchange();
    if (hasAll || exchange == null || only.has(new SessionKey(message.tenant(), message.publisher().clientId()))) only.deliver(message, exchange, groups, acknowledgement);
    else only.deliverOfExchange(message, exchange.birth(), exchange, groups, acknowledgement);
  }

  /** {@link InboxServer#deliver(Publication, MatchedRanges, Acknowledgement)}. */
  void deliver(Publication message, MatchedRanges matched, @Nullable Acknowledgement acknowledgement) {
    var exchange = message.exchange();
    if (exchange != null && acknowledgement != null) {
      deliver(message, exchange, matched, acknowledgement);
      return;
    }
    if (acknowledgement != null) for (int more = matched.count(); more > 1; more--) acknowledgement.expect();
    for (int i = 0; i < ranges.size(); i++) {
      var groups = matched.groups(i);
      if (groups != null) ranges.get(i).deliver(message, null, groups, acknowledgement);
    }
  }

  private void deliver(Publication message, Publication.Exchange exchange, MatchedRanges matched, Acknowledgement acknowledgement) {
    var publisher = new SessionKey(message.tenant(), message.publisher().clientId());
    int number = home.applyAsInt(publisher);
    matched.add(number);
    var recorder = ranges.get(number);
    var groups = Objects.requireNonNull(matched.groups(number));
    long birth = recorder.birthOf(publisher, exchange.epoch());
    Consumer<Acknowledgement> record = answer -> recorder.deliver(message, exchange, groups, answer);
    // If the session belongs to another connection by now, its own range refuses the message.
    if (matched.count() == 1 || birth == 0) exchanges.deliver(publisher, record, acknowledgement);
    else exchanges.deliver(publisher, answer -> deliverElsewhere(message, exchange, birth, number, matched, answer), record, acknowledgement);
  }

  private void deliverElsewhere(
      Publication message, Publication.Exchange exchange, long birth, int number, MatchedRanges matched, Acknowledgement acknowledgement) {
    for (int i = 0; i < ranges.size(); i++) {
      var groups = matched.groups(i);
      if (groups == null || i == number) continue;
      acknowledgement.expect();
      ranges.get(i).deliverOfExchange(message, birth, exchange, groups, acknowledgement);
    }
  }

  /** Stores a message for a durable member of a group, or in its inbox; {@link InboxServer#appendToGroup}. */
  CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    if (recorded != null && exchange != null) return recorded.append(group, message, exchange);
    return ofGroup(message.tenant(), group).appendToGroup(group, message, exchange);
  }

  /** The range whose members have the most room in their windows; if all are offline, a range with members rather than none. */
  InboxRangeServer ofGroup(String tenant, TopicFilter group) {
    var best = ranges.getFirst();
    int most = 0;
    for (InboxRangeServer range : ranges) {
      int credit = ranges.size() == 1 ? 0 : range.groupCredit(tenant, group);
      if (credit <= most) continue;
      most = credit;
      best = range;
    }
    return best;
  }

  /** Releases an exchange at home, once all other ranges have forgotten it. */
  CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
    var key = SessionKey.of(session);
    var recorder = ranges.get(home.applyAsInt(key));
    if (ranges.size() == 1) return recorder.released(session, packetId);
    var forgetting = new ArrayList<CompletableFuture<Void>>();
    for (var range : ranges) {
      if (!range.equals(recorder) && range.mayHold(key, birth, packetId)) forgetting.add(range.forget(key, birth, session.epoch(), packetId));
    }
    if (forgetting.isEmpty()) return recorder.released(session, packetId);
    // Once released, the client may use the packet identifier for another message, which no range must take for this
    // one.
    var released = new CompletableFuture<Void>();
    Proposals.follow(
        Proposals.all(forgetting),
        released,
        () -> {
          var atHome = recorder.released(session, packetId);
          Proposals.follow(atHome, released, () -> released.complete(null));
        });
    return released;
  }

  /** Forgets an exchange of a session that a range of another server has. */
  CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
    var key = SessionKey.of(session);
    var only = ranges.getFirst();
    if (hasAll || only.has(key)) return CompletableFuture.failedFuture(new IllegalArgumentException(session + " is in a range of this server"));
    return only.forget(key, birth, session.epoch(), packetId);
  }
}
