package dunlin.inbox.between;

import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.between.OtherRange.Picked;
import dunlin.inbox.between.OtherRange.Taken;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommand.AppendToGroup;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.RangeState;
import dunlin.model.Publication;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import dunlin.transport.Terms;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Stores messages of recorded QoS 2 exchanges for the durable members of groups, once, where several nodes lead the ranges that have them: the record is in the range
 * of the publisher's session, and names the one range that stores the message for a group.
 */
public final class RecordedAppends {
  /*
   * The record names the range first, and that range stores the message then, which it does once (ForeignExchanges). A frontend that does not know what became of its
   * call asks again, whichever range it asks first, and the message goes to the range that the record names. So does a repetition by the leader of the routes.
   *
   * Owner: any thread, none blocks.
   * Bounds: stateless; the calls are those of frontends.
   * Failure: a call fails when the record, or the range that it names, is not reached; nothing is stored then, or it is unknown.
   */
  private final Layout layout;
  private final int own;
  private final AskedRange here;
  private final RangeState state;
  private final Map<Integer, ? extends OtherRange> others;
  private final Function<SessionCommand, CompletableFuture<Outcome>> proposing;
  private final InstantSource clock;

  /**
   * @param here this range, whose state it is
   * @param others all other ranges, by number
   * @param proposing proposes a command to this range
   */
  public RecordedAppends(
      Layout layout, AskedRange here, RangeState state, Map<Integer, ? extends OtherRange> others, Function<SessionCommand, CompletableFuture<Outcome>> proposing,
      InstantSource clock) {
    this.layout = layout;
    own = layout.rangeOf(state.interval.from());
    this.here = here;
    this.state = state;
    this.others = others;
    this.proposing = proposing;
    this.clock = clock;
  }

  /** Answers whether the message is taken: it is not when this range has no members of the group, and holds nothing for it. */
  public CompletableFuture<Boolean> append(TopicFilter filter, Publication message, OpenExchange exchange) {
    var group = state.groups.get(new GroupKey(message.tenant(), filter));
    if (group == null) return CompletableFuture.completedFuture(false);
    String publisher = message.publisher().clientId();
    int home = layout.rangeOf(new SessionKey(message.tenant(), publisher).shard(layout.shards()));
    var append = new AppendToGroup(clock.millis(), filter, message, exchange);
    if (home == own) return proposing.apply(append).thenCompose(outcome -> atHome(append, outcome));
    var record = others.get(home);
    if (record == null) return unreached(home);
    long pick = Terms.Pick.of(filter, ShardId.inbox(group.shard));
    return record
        .pick(new SessionCommand.PickForGroup(message.tenant(), publisher, exchange, filter, pick))
        .thenCompose(picked -> store(append, picked, home));
  }

  private CompletableFuture<Boolean> atHome(AppendToGroup append, Outcome outcome) {
    return switch (outcome) {
      case Outcome.Picked(var pick, var birth) -> store(append, new Picked(pick, birth), own);
      case Outcome.Existed(var taken) -> CompletableFuture.completedFuture(taken.getFirst());
      case Outcome.Full _, Outcome.AllFull _ -> full(append);
      case Outcome other -> CompletableFuture.failedFuture(new IllegalStateException("the session range answered " + other));
    };
  }

  private CompletableFuture<Boolean> store(AppendToGroup append, Picked picked, int home) {
    if (picked.pick() == Terms.Pick.DELIVERED) return CompletableFuture.completedFuture(true);
    if (picked.birth() == 0) return taken(append, here.store(new AppendToGroup(append.now(), append.group(), append.message(), null)));
    int number = rangeOf(append.group(), picked.pick());
    if (number == home) return CompletableFuture.completedFuture(true); // the record and the message are of one entry there
    OtherRange range = number == own ? here : others.get(number);
    return range == null ? unreached(number) : taken(append, range.store(new SessionCommand.AppendToGroupOfExchange(picked.birth(), append)));
  }

  private int rangeOf(TopicFilter group, long pick) {
    int shard = IntStream.range(0, layout.shards()).filter(each -> Terms.Pick.of(group, ShardId.inbox(each)) == pick).findFirst().orElse(-1);
    return shard < 0 ? -1 : layout.rangeOf(shard);
  }

  private static CompletableFuture<Boolean> taken(AppendToGroup append, CompletableFuture<Taken> stored) {
    return stored.thenCompose(
        taken ->
            switch (taken) {
              case YES -> CompletableFuture.completedFuture(true);
              case NO -> CompletableFuture.completedFuture(false);
              case FULL -> full(append);
            });
  }

  private static CompletableFuture<Boolean> full(AppendToGroup append) {
    return CompletableFuture.failedFuture(new StoreException("the inbox of " + append.group().text() + " is full, or the open QoS 2 exchanges hold too much memory"));
  }

  private static CompletableFuture<Boolean> unreached(int number) {
    return CompletableFuture.failedFuture(new StoreException("range " + number + " of the sessions is not known here"));
  }
}
