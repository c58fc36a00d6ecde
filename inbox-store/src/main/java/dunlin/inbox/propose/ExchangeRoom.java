package dunlin.inbox.propose;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.rows.SessionCommand.Append;
import dunlin.inbox.rows.SessionCommand.AppendOfExchange;
import dunlin.inbox.rows.SessionCommand.AppendToGroup;
import dunlin.inbox.rows.SessionCommand.AppendToGroupOfExchange;
import dunlin.inbox.rows.SessionCommand.PickForGroup;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.RangeState;
import dunlin.model.Publication;
import java.util.function.BooleanSupplier;

/**
 * Whether a range has memory for more of its QoS 2 exchanges. Clients end them when they like, and MQTT 3 has no Receive
 * Maximum: without this, one that never sends PUBREL would fill the heap of all replicas, again after each start.
 */
final class ExchangeRoom {
  /*
   * The leader asks before it proposes. So what a log says is applied by all replicas, whatever their limits are.
   *
   * A session may begin an exchange while its exchanges hold less than all together leave of one half of the maximum. So
   * the largest are refused first; LITTLE is left for each. What an exchange that has begun may add, where its message
   * went for groups, is measured against the whole maximum. So a client that holds all that it can leaves one half of
   * it, and every other session can begin exchanges. While the heap is full the maximum counts as held, so LITTLE is left.
   *
   * Owner: any thread.
   * Bounds: stateless. The maximum is exceeded by the commands in flight, each of which holds more memory than what it
   * adds. A message that its lane sends again is not refused unless it is for groups: it may be recorded.
   * Failure: a node that has lost its leadership may refuse by what it knew; the publisher gets an error, nothing is
   * stored.
   */
  /** The exchanges of all ranges may take one part in PART of what sessions and subscriptions may. */
  private static final int PART = 4;

  /** The least that a range has for its exchanges. */
  private static final long LEAST = 64 * 1_024;

  /** What is left for each session. */
  static final long LITTLE = 8 * 1_024;

  /**
   * The most for one session to begin another exchange, however much memory there is: the answer to CONNECT names its
   * open exchanges, and has a bound.
   */
  private static final long SESSION_MAX = 48L * 1_024 * 1_024;

  private final RangeState state;
  private final long most;

  /** While all exchanges hold less, no session can have too much. */
  private final long plenty;
  private final BooleanSupplier heapFull;

  /** @param heapFull whether the heap has no room for more that stays */
  ExchangeRoom(RangeState state, InboxSettings settings, BooleanSupplier heapFull) {
    this(state, Math.max(LEAST, settings.sums().memory() / PART / settings.layout().ranges()), heapFull);
  }

  /** @param most bytes that the exchanges of the range may take */
  ExchangeRoom(RangeState state, long most, BooleanSupplier heapFull) {
    this.state = state;
    this.most = most;
    this.heapFull = heapFull;
    plenty = Math.min(most / 4, SESSION_MAX);
  }

  /** Whether what a command may add has room. */
  boolean has(SessionCommand command) {
    long held = state.exchangeMemory();
    if (held < plenty && !heapFull.getAsBoolean()) return true;
    return switch (command) {
      case Append append -> has(append, held);
      case AppendOfExchange append -> append.packetId() == Publication.Exchange.WILL || has(append, held);
      case AppendToGroup(_, _, var message, var exchange) -> exchange == null || exchange.isOfWill() || mayAdd(heldBy(publisherOf(message)), held);
      case AppendToGroupOfExchange(_, var append) -> isOfWill(append) || mayAdd(state.foreignExchanges.memoryOf(publisherOf(append.message())), held);
      case PickForGroup pick -> pick.exchange().isOfWill() || mayAdd(heldBy(new SessionKey(pick.tenant(), pick.clientId())), held);
      default -> true;
    };
  }

  private boolean has(Append append, long held) {
    var exchange = append.exchange();
    if (exchange == null || exchange.isOfWill()) return true;
    long own = heldBy(publisherOf(append.message()));
    var origin = append.origin();
    if (origin == null || !origin.repeated()) return mayBegin(own, held);
    return (append.groups().isEmpty() && origin.picked().isEmpty()) || mayAdd(own, held);
  }

  private boolean has(AppendOfExchange append, long held) {
    var publisher = publisherOf(append.append().message());
    int own = state.foreignExchanges.memoryOf(publisher);
    if (!state.foreignExchanges.has(publisher, append.birth(), append.packetId())) return mayBegin(own, held);
    return append.append().groups().isEmpty() || mayAdd(own, held);
  }

  private boolean mayBegin(long own, long held) {
    return held < most && own < Math.clamp(heapFull.getAsBoolean() ? 0 : most / 2 - held, LITTLE, SESSION_MAX);
  }

  private boolean mayAdd(long own, long held) {
    return held < most && own < Math.clamp(most - held, 2 * LITTLE, 2 * SESSION_MAX);
  }

  private long heldBy(SessionKey publisher) {
    var session = state.sessions.get(publisher);
    return session == null ? 0 : session.exchangeMemory();
  }

  private static boolean isOfWill(AppendToGroup append) {
    var exchange = append.exchange();
    return exchange != null && exchange.isOfWill();
  }

  private static SessionKey publisherOf(Publication message) {
    return new SessionKey(message.tenant(), message.publisher().clientId());
  }
}
