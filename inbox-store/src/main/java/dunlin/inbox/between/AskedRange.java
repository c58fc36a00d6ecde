package dunlin.inbox.between;

import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardCounters;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.Transfer;
import dunlin.store.StoreException;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Answers the leaders of other ranges, from what this node's replica of a range has applied, and proposes what they bring. */
public final class AskedRange implements OtherRange {
  /*
   * Owner: any thread, as RangeState says.
   * Bounds: those of a question, and of proposals.
   * Failure: a replica that is behind does not know the latest sessions. So a session has ended for it only when a later one is in its place, or when it has given out
   *   a later epoch of that shard and has no such session. A number of messages that were set aside is an epoch, too.
   */
  private final RangeState state;
  private final Function<SessionCommand, CompletableFuture<Outcome>> proposing;
  private final InstantSource clock;

  /**
   * @param proposing proposes a command to the range, whose outcome is the answer
   * @param clock of this node: by it messages expire here, and not by that of who brings them
   */
  public AskedRange(RangeState state, Function<SessionCommand, CompletableFuture<Outcome>> proposing, InstantSource clock) {
    this.state = state;
    this.proposing = proposing;
    this.clock = clock;
  }

  @Override
  public CompletableFuture<Sums> sums() {
    // Each is read for itself, and may be below zero for a moment while a command is applied.
    return CompletableFuture.completedFuture(
        new Sums(Math.max(0, state.durableCount.get()), Math.max(0, state.memory.get()), Math.max(0, state.queuedBytes.get())));
  }

  @Override
  public CompletableFuture<List<Held>> held(List<String> tenants) {
    return CompletableFuture.completedFuture(tenants.stream().map(this::held).toList());
  }

  private Held held(String tenant) {
    return new Held(
        Math.max(0, state.durableByTenant.of(tenant)), Math.max(0, state.subscriptionsByTenant.of(tenant)), Math.max(0, state.queuedByTenant.of(tenant)));
  }

  @Override
  public CompletableFuture<List<Boolean>> ended(List<Birth> sessions) {
    return CompletableFuture.completedFuture(sessions.stream().map(this::hasEnded).toList());
  }

  private boolean hasEnded(Birth session) {
    var key = new SessionKey(session.tenant(), session.clientId());
    if (!state.interval.contains(state.interval.of(key))) return false;
    boolean past = state.counters.isPast(session.birth()); // read before the sessions: one that is there now has a later epoch
    var present = state.sessions.get(key);
    return past && (present == null || present.birth() != session.birth());
  }

  @Override
  public CompletableFuture<List<GroupPart>> parts(List<GroupKey> groups) {
    return CompletableFuture.completedFuture(groups.stream().map(this::part).toList());
  }

  private GroupPart part(GroupKey key) {
    var group = state.groups.get(key);
    int credit = group == null ? 0 : group.credit();
    return credit == 0 || group == null ? GroupPart.NONE : new GroupPart(credit, group.takes());
  }

  @Override
  public CompletableFuture<List<Boolean>> over(List<SetAside> numbers) {
    return CompletableFuture.completedFuture(numbers.stream().map(this::isOver).toList());
  }

  private boolean isOver(SetAside of) {
    if (!state.interval.contains(ShardCounters.shardOf(of.number()))) return false;
    boolean past = state.counters.isPast(of.number()); // read before the group: what is set aside now has a later number
    var group = state.groups.get(of.group());
    Transfer present = group == null ? null : group.transfer();
    return past && (present == null || present.number() != of.number());
  }

  @Override
  public CompletableFuture<Taken> store(SessionCommand messages) {
    return proposing.apply(byThisClock(messages)).thenApply(AskedRange::taken);
  }

  private SessionCommand byThisClock(SessionCommand messages) {
    return switch (messages) {
      case SessionCommand.AcceptTransfer(_, var group, var number, var brought) -> new SessionCommand.AcceptTransfer(clock.millis(), group, number, brought);
      case SessionCommand.AppendToGroup(_, var group, var message, var exchange) -> new SessionCommand.AppendToGroup(clock.millis(), group, message, exchange);
      case SessionCommand.AppendToGroupOfExchange(var birth, var append) ->
          new SessionCommand.AppendToGroupOfExchange(birth, new SessionCommand.AppendToGroup(clock.millis(), append.group(), append.message(), append.exchange()));
      default -> throw new IllegalArgumentException("no messages for a group: " + messages.getClass().getSimpleName());
    };
  }

  @Override
  public CompletableFuture<Picked> pick(SessionCommand.PickForGroup pick) {
    return proposing
        .apply(pick)
        .thenApply(
            outcome -> {
              if (outcome instanceof Outcome.Picked(var shard, var birth)) return new Picked(shard, birth);
              throw new StoreException("the session range answered " + outcome);
            });
  }

  private static Taken taken(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Existed(var stored) -> stored.getFirst() ? Taken.YES : Taken.NO;
      case Outcome.Full _, Outcome.AllFull _ -> Taken.FULL;
      case Outcome.Stale _ -> Taken.YES; // the client has sent the message again since
      case Outcome other -> throw new StoreException("the session range answered " + other);
    };
  }
}
