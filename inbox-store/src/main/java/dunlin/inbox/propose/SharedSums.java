package dunlin.inbox.propose;

import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.RangeState;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * Bounds what commands may add to one of several ranges, so that all ranges together stay within the bounds of the
 * node.
 *
 * <p>A range cannot read the other ranges when it applies a command, or its replicas would decide differently. So a
 * command carries what the others hold at the time of the proposal, if that can matter.
 */
public final class SharedSums {
  /*
   * A command for a session or subscription claims what it could add, from before it is proposed until it is answered.
   * While all claims fit beside what the ranges hold, the command carries nothing. Otherwise it carries what the other
   * ranges hold plus all other claims. A claim is counted before the ranges are read, so the later of two commands sees
   * the earlier one, claimed or applied, and the sums never exceed the bounds.
   *
   * How many inboxes a message goes to is not known before it is applied, so messages claim nothing. When inboxes hold
   * more than one part in PLENTY of the bound, a message carries what the other ranges hold. So inboxes may exceed the
   * bound by the messages that were in flight to them.
   *
   * What ranges of other nodes hold is known from their last answers, and their claims are not. So the bounds are exceeded by what these have taken on since.
   *
   * Owner: none; any thread.
   * Bounds: two numbers. The claims are those of the commands that are proposed and not answered.
   * Failure: a command whose outcome is unknown gives up its claim. If it is applied after all, the sums may exceed the
   * bounds by it.
   */
  /**
   * Below one part in PLENTY of the bound, no inbox can be full because of the others: while all of them hold a
   * quarter, three quarters are left for one.
   */
  private static final int PLENTY = 4;

  private final InboxSettings.Sums most;
  private final List<RangeState> ranges;
  private final Supplier<OtherRange.Sums> otherNodes;
  private final AtomicLong sessions = new AtomicLong();
  private final AtomicLong memory = new AtomicLong();

  /** The most that a command could add. */
  private record Claim(long sessions, long memory) {
    private static final Claim NONE = new Claim(0, 0);
  }

  /** @param ranges all ranges of a node that leads all of them */
  public SharedSums(InboxSettings.Sums most, List<RangeState> ranges) {
    this(most, ranges, () -> OtherRange.Sums.NONE);
  }

  /**
   * For one range of several that different nodes lead.
   *
   * @param otherNodes what the other ranges had when they were asked last
   */
  public SharedSums(InboxSettings.Sums most, RangeState range, Supplier<OtherRange.Sums> otherNodes) {
    this(most, List.of(range), otherNodes);
  }

  private SharedSums(InboxSettings.Sums most, List<RangeState> ranges, Supplier<OtherRange.Sums> otherNodes) {
    this.most = most;
    this.ranges = List.copyOf(ranges);
    this.otherNodes = otherNodes;
  }

  private static Claim claimOf(SessionCommand command) {
    return switch (command) {
      case SessionCommand.Connect(_, var request) -> claimOf(request);
      case SessionCommand.Import(_, var request, _, _) -> claimOf(request);
      case SessionCommand.Subscribe(_, var subscriptions) ->
          new Claim(0, subscriptions.stream().mapToLong(each -> RangeState.memoryOf(each.filter())).sum());
      default -> Claim.NONE;
    };
  }

  private static Claim claimOf(InboxClient.Connect request) {
    return request.durable() ? new Claim(1, RangeState.memoryOf(new SessionKey(request.tenant(), request.clientId()), request.user())) : Claim.NONE;
  }

  /**
   * The command for one of the ranges, with what the others hold if that matters. Its claim holds until {@link
   * #release}.
   */
  SessionCommand claim(RangeState range, SessionCommand command) {
    var claim = claimOf(command);
    if (claim.equals(Claim.NONE)) return storesMessages(command) ? besideMessages(range, command) : command;
    long sessionsElsewhere = elsewhere(range, most.sessions(), sessions.addAndGet(claim.sessions()), claim.sessions(), each -> each.durableCount.get(), OtherRange.Sums::durable);
    long memoryElsewhere = elsewhere(range, most.memory(), memory.addAndGet(claim.memory()), claim.memory(), each -> each.memory.get(), OtherRange.Sums::memory);
    long messagesElsewhere = storesMessages(command) ? messagesElsewhere(range) : 0;
    if (sessionsElsewhere == 0 && memoryElsewhere == 0 && messagesElsewhere == 0) return command;
    return new SessionCommand.Beside(sessionsElsewhere, memoryElsewhere, messagesElsewhere, command);
  }

  /** Releases the claim of a command that was answered or not accepted. */
  void release(SessionCommand command) {
    var claim = claimOf(command);
    sessions.addAndGet(-claim.sessions());
    memory.addAndGet(-claim.memory());
  }

  /** What the other ranges hold plus all other claims; 0 if everything fits. */
  private long elsewhere(
      RangeState range, long most, long claimed, long own, ToLongFunction<RangeState> used, ToLongFunction<OtherRange.Sums> usedByOtherNodes) {
    long others = others(range, used, usedByOtherNodes);
    if (claimed + others + used.applyAsLong(range) <= most) return 0;
    return claimed - own + others;
  }

  @SuppressWarnings("ReferenceEquality") // compares identity
  private long others(RangeState range, ToLongFunction<RangeState> used, ToLongFunction<OtherRange.Sums> usedByOtherNodes) {
    long sum = usedByOtherNodes.applyAsLong(otherNodes.get());
    for (RangeState each : ranges) if (each != range) sum += used.applyAsLong(each);
    return sum;
  }

  private static boolean storesMessages(SessionCommand command) {
    return switch (command) {
      case SessionCommand.Append _, SessionCommand.AppendOfExchange _, SessionCommand.AppendTo _, SessionCommand.AppendToGroup _, SessionCommand.AppendToGroupOfExchange _,
          SessionCommand.AcceptTransfer _, SessionCommand.DrainGroup _, SessionCommand.Import _ ->
          true;
      default -> false;
    };
  }

  private SessionCommand besideMessages(RangeState range, SessionCommand command) {
    long others = messagesElsewhere(range);
    return others == 0 ? command : new SessionCommand.Beside(0, 0, others, command);
  }

  /** The bytes of messages that the other ranges hold; 0 while no inbox can be full because of them. */
  private long messagesElsewhere(RangeState range) {
    long others = others(range, each -> each.queuedBytes.get(), OtherRange.Sums::messageBytes);
    return others + range.queuedBytes.get() <= most.messageBytes() / PLENTY ? 0 : others;
  }
}
