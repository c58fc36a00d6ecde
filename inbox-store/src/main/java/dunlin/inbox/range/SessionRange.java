package dunlin.inbox.range;

import dunlin.inbox.InboxLimits;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.RouteKey;
import dunlin.inbox.rows.SessionCommand.AcceptTransfer;
import dunlin.inbox.rows.SessionCommand.Acknowledge;
import dunlin.inbox.rows.SessionCommand.Append;
import dunlin.inbox.rows.SessionCommand.AppendOfExchange;
import dunlin.inbox.rows.SessionCommand.AppendTo;
import dunlin.inbox.rows.SessionCommand.AppendToGroup;
import dunlin.inbox.rows.SessionCommand.AppendToGroupOfExchange;
import dunlin.inbox.rows.SessionCommand.BeginTransfer;
import dunlin.inbox.rows.SessionCommand.Beside;
import dunlin.inbox.rows.SessionCommand.Configure;
import dunlin.inbox.rows.SessionCommand.Connect;
import dunlin.inbox.rows.SessionCommand.ConnectionGone;
import dunlin.inbox.rows.SessionCommand.Delivered;
import dunlin.inbox.rows.SessionCommand.Disconnect;
import dunlin.inbox.rows.SessionCommand.DrainGroup;
import dunlin.inbox.rows.SessionCommand.EndGroup;
import dunlin.inbox.rows.SessionCommand.EndTransfer;
import dunlin.inbox.rows.SessionCommand.ForgetExchange;
import dunlin.inbox.rows.SessionCommand.ForgetPublishers;
import dunlin.inbox.rows.SessionCommand.ForgetTransfer;
import dunlin.inbox.rows.SessionCommand.FrontendGone;
import dunlin.inbox.rows.SessionCommand.Import;
import dunlin.inbox.rows.SessionCommand.PickForGroup;
import dunlin.inbox.rows.SessionCommand.Received;
import dunlin.inbox.rows.SessionCommand.Released;
import dunlin.inbox.rows.SessionCommand.Remove;
import dunlin.inbox.rows.SessionCommand.Subscribe;
import dunlin.inbox.rows.SessionCommand.Tick;
import dunlin.inbox.rows.SessionCommand.Unsubscribe;
import dunlin.inbox.rows.SessionCommand.WillPublished;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.inbox.state.DurableSubscriber;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The session tier's state machine: applies each command to sessions, inboxes, groups and wills. */
public final class SessionRange implements RangeLogic<SessionCommand, SessionResult> {
  /*
   * Owner: the applying thread. Other threads may use state() for lookups, and nextWork().
   * Bounds: a command does work for the sessions that a message matches, for one session, or for the number of steps
   * that it states.
   */
  private static final Outcome DONE = new Outcome.Done();
  private static final Outcome STALE = new Outcome.Stale();

  private final RangeState state;
  private final Inboxes inboxes;
  private final Groups groups;
  private final DurableSubscriptions subscriptions;
  private final Appender appender;
  private final Transfers transfers;
  private final Wills wills;
  private final SessionLife life;
  private final Imports imports;

  /** When the next Tick has work, milliseconds since 1970; written by the applying thread only. */
  private volatile long nextWork = Long.MAX_VALUE;

  /** Whether a trace runs on this node: then effects say what happens to each message. Rows do not depend on it. Set before the node leads. */
  private volatile BooleanSupplier notes = () -> false;

  public SessionRange(ShardInterval interval) {
    state = new RangeState(interval);
    inboxes = new Inboxes(state);
    groups = new Groups(state, inboxes);
    subscriptions = new DurableSubscriptions(state, groups);
    wills = new Wills(state);
    appender = new Appender(state, inboxes, groups, wills);
    transfers = new Transfers(state, inboxes, groups, appender);
    life = new SessionLife(state, inboxes, subscriptions, wills);
    imports = new Imports(state, inboxes, life);
  }

  /** Has effects say what happens to each message while this is true; asked by the applying thread for each command. */
  public void noteWhile(BooleanSupplier traced) {
    notes = traced;
  }

  public RangeState state() {
    return state;
  }

  public long nextWork() {
    return nextWork;
  }

  /**
   * Called when this node becomes the leader of the range; goes through all sessions. On the applying thread.
   *
   * @return the routes that are needed now; the results of later commands report changes
   */
  public List<RouteKey> lead() {
    var routes = new HashSet<RouteKey>();
    for (SessionState session : state.sessions.values()) {
      if (session.owner != null) session.anyHanded();
      for (DurableSubscriber each : session.subscriptions()) routes.add(groups.route(each));
    }
    return List.copyOf(routes);
  }

  /**
   * The groups whose messages wait and no member in this range takes now, or are in transfer to another range. On the
   * applying thread.
   */
  public List<GroupKey> stuckGroups() {
    return state.groups.values().stream().filter(GroupState::lookForOthers).map(group -> group.key).toList();
  }

  @Override
  public void open(RangeReader rows) {
    inboxes.clear();
    new RangeOpening(state, life, subscriptions, wills).open(rows);
    refreshNextWork();
  }

  @Override
  public List<SessionResult> apply(List<SessionCommand> commands, RangeWriter out) {
    var results = new ArrayList<SessionResult>(commands.size());
    for (SessionCommand command : commands) {
      var effects = new Effects(notes.getAsBoolean());
      results.add(new SessionResult(apply(command, new Change(out, effects, now(command))), effects));
    }
    refreshNextWork();
    return results;
  }

  @Override
  public void summarize(RangeWriter out) {
    state.summaries.write(out);
  }

  private static long now(SessionCommand command) {
    return switch (command) {
      case Connect(var now, _) -> now;
      case Disconnect(var now, _, _, _, _) -> now;
      case Append(var now, _, _, _, _, _, _) -> now;
      case AppendOfExchange append -> append.append().now();
      case AppendTo(var now, _, _, _, _) -> now;
      case AppendToGroup(var now, _, _, _) -> now;
      case AppendToGroupOfExchange(_, var append) -> append.now();
      case Tick(var now, _, _) -> now;
      case FrontendGone(var now, _, _, _) -> now;
      case ConnectionGone(var now, _, _, _) -> now;
      case Remove(var now, _, _) -> now;
      case DrainGroup(var now, _, _) -> now;
      case BeginTransfer(var now, _, _, _) -> now;
      case AcceptTransfer(var now, _, _, _) -> now;
      case EndTransfer(var now, _, _, _) -> now;
      case Import(var now, _, _, _) -> now;
      case Beside beside -> now(beside.command());
      case Configure _, Subscribe _, Unsubscribe _, Acknowledge _, Received _, Released _, Delivered _, WillPublished _ -> 0;
      case ForgetExchange _, ForgetPublishers _, ForgetTransfer _, EndGroup _, PickForGroup _ -> 0;
    };
  }

  private Outcome apply(SessionCommand command, Change change) {
    return switch (command) {
      case Configure(var limits) -> configure(change, limits);
      case Connect(_, var request) -> life.connect(change, request);
      case Subscribe(var ref, var wanted) ->
          owned(ref, session -> subscriptions.subscribe(change, session, wanted));
      case Unsubscribe(var ref, var filters) ->
          owned(ref, session -> subscriptions.unsubscribe(change, session, filters));
      case Disconnect(_, var ref, var publishWill, var expirySeconds, var handed) -> {
        var outcome = owned(ref, session -> life.disconnect(change, session, publishWill, expirySeconds, handed));
        if (outcome instanceof Outcome.Stale && !publishWill) wills.discardDisplaced(change, SessionKey.of(ref), ref.epoch());
        yield outcome;
      }
      case Append append -> appender.append(change, append);
      case AppendOfExchange append -> appender.appendOfExchange(change, append);
      case ForgetExchange forget -> {
        var session = new SessionKey(forget.tenant(), forget.clientId());
        if (state.foreignExchanges.isLate(session, forget.epoch())) yield STALE;
        state.foreignExchanges.hear(change.out(), state.interval, session, forget.birth(), forget.epoch());
        state.foreignExchanges.remove(change.out(), state.interval, session, forget.birth(), forget.packetId());
        yield DONE;
      }
      case ForgetPublishers(var over) -> {
        for (var each : over) state.foreignExchanges.remove(change.out(), state.interval, each);
        yield DONE;
      }
      case AppendTo append -> owned(append.session(), session -> appender.appendTo(change, session, append));
      case AppendToGroup append -> appender.appendToGroup(change, append);
      case AppendToGroupOfExchange append -> appender.appendToGroupOfExchange(change, append);
      case PickForGroup pick -> appender.pickForGroup(change, pick);
      case Acknowledge(var ref, var sequences, var expired) ->
          owned(
              ref,
              session -> {
                for (long sequence : sequences) inboxes.acknowledge(change, session, sequence, expired);
                return DONE;
              });
      case Received(var ref, var sequence) ->
          owned(
              ref,
              session -> {
                inboxes.received(change, session, sequence);
                return DONE;
              });
      case Released(var ref, var packetId) -> owned(ref, session -> life.released(change, session, packetId));
      case Delivered(var ref, var packetIds) -> {
        life.delivered(change, ref, packetIds);
        yield DONE;
      }
      case WillPublished(var tenant, var clientId, var epoch) -> {
        wills.published(change, new SessionKey(tenant, clientId), epoch);
        yield DONE;
      }
      case Tick(_, var stepsMax, var willsMax) -> tick(change, stepsMax, willsMax);
      case FrontendGone(_, var frontend, var incarnation, var max) -> {
        if (life.frontendGone(change, frontend, incarnation, max)) change.effects().moreWork();
        yield DONE;
      }
      case ConnectionGone(_, var tenant, var clientId, var connection) -> {
        life.connectionGone(change, new SessionKey(tenant, clientId), connection);
        yield DONE;
      }
      case Remove(_, var tenant, var clientId) -> life.remove(change, new SessionKey(tenant, clientId)) ? DONE : STALE;
      case DrainGroup(_, var group, var max) -> {
        groups.drain(change, group, max);
        yield DONE;
      }
      case BeginTransfer begin -> transfers.begin(change, begin);
      case AcceptTransfer accept -> transfers.accept(change, accept);
      case EndTransfer end -> transfers.end(change, end);
      case ForgetTransfer(var group, var number) -> {
        transfers.forget(change, group, number);
        yield DONE;
      }
      case EndGroup(var group) -> transfers.endGroup(change, group);
      case Import begun -> imports.apply(change, begun);
      case Beside beside -> beside(beside, change);
    };
  }

  private Outcome beside(Beside command, Change change) {
    state.elsewhere = new RangeState.Elsewhere(command.sessions(), command.memory(), command.messageBytes(), command.tenantBytes());
    try {
      return apply(command.command(), change);
    } finally {
      state.elsewhere = RangeState.Elsewhere.NOTHING;
    }
  }

  /** Runs an action on the session if it still has the epoch of the caller's reference. */
  private Outcome owned(SessionRef ref, Function<SessionState, Outcome> action) {
    var session = state.sessions.get(SessionKey.of(ref));
    return session == null || session.epoch != ref.epoch() ? STALE : action.apply(session);
  }

  private Outcome configure(Change change, InboxLimits limits) {
    state.limits = limits;
    state.writeLimits(change.out());
    for (GroupState group : state.groups.values()) group.recount(limits.groupWindow());
    wills.leaderBegins();
    return DONE;
  }

  private Outcome tick(Change change, int stepsMax, int willsMax) {
    wills.report(change, willsMax);
    life.sweep(change, life.expire(change, stepsMax));
    boolean expiresMore = state.expiring.firstDeadline() <= change.now();
    if (expiresMore || !state.leftovers.isEmpty()) change.effects().moreWork();
    return DONE;
  }

  private void refreshNextWork() {
    long next = state.leftovers.isEmpty() ? Long.MAX_VALUE : 0;
    next = Math.min(next, state.expiring.firstDeadline());
    if (!state.dueWills.isEmpty()) next = Math.min(next, state.dueWills.firstKey().at());
    nextWork = next;
  }
}
