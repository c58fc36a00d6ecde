package dunlin.inbox.propose;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.range.RangeState;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;

/**
 * What a command may add to one of several ranges, so that all of them together stay within the sums of the node.
 *
 * <p>A range cannot look at the others when it applies a command, or its replicas would decide differently. So a command brings what the others have when it is
 * proposed, if that can matter.
 */
public final class SharedSums {
  /*
   * A session or subscription claims, from before it is proposed until it is answered, what it could add. When all that is claimed fits beside what the ranges
   * have, nothing is brought. Otherwise what the others have and all others claim. Claims are counted first and the ranges read then, so the later of two
   * sees the earlier, claimed or applied, and the sums never pass the bounds.
   *
   * How many inboxes a message goes to is not known before it is applied, so messages claim nothing. When inboxes hold more than PLENTY of the bound,
   * a message brings what the others hold. So they may pass the bound by what was on its way to them.
   *
   * Owner: none; any thread.
   * Bounds: two numbers. The claims are those of the commands on their way to the log.
   * Failure: a command whose fate is unknown claims nothing any more. If it is applied after all, the sums may pass the bounds by it.
   */
  /** The part of the bound below which no inbox can be full because of the others: while all hold a quarter, three are left for one. */
  private static final int PLENTY = 4;

  private final InboxSettings.Sums most;
  private final List<RangeState> ranges;
  private final AtomicLong sessions = new AtomicLong();
  private final AtomicLong memory = new AtomicLong();

  /** What a command could add. */
  private record Claim(long sessions, long memory) {
    private static final Claim NONE = new Claim(0, 0);
  }

  /** @param ranges all of the node */
  public SharedSums(InboxSettings.Sums most, List<RangeState> ranges) {
    this.most = most;
    this.ranges = List.copyOf(ranges);
  }

  private static Claim claimOf(SessionCommand command) {
    return switch (command) {
      case SessionCommand.Connect(_, var request) ->
          request.durable() ? new Claim(1, RangeState.memoryOf(new SessionKey(request.tenant(), request.clientId()), request.user())) : Claim.NONE;
      case SessionCommand.Subscribe(_, var subscriptions) ->
          new Claim(0, subscriptions.stream().mapToLong(each -> RangeState.memoryOf(each.filter())).sum());
      default -> Claim.NONE;
    };
  }

  /** The command for one of the ranges, with what the others have when that matters; what it claims is claimed until {@link #release}. */
  SessionCommand claim(RangeState range, SessionCommand command) {
    var claim = claimOf(command);
    if (claim.equals(Claim.NONE)) return storesMessages(command) ? besideMessages(range, command) : command;
    long sessionsElsewhere = elsewhere(range, most.sessions(), sessions.addAndGet(claim.sessions()), claim.sessions(), each -> each.durableCount.get());
    long memoryElsewhere = elsewhere(range, most.memory(), memory.addAndGet(claim.memory()), claim.memory(), each -> each.memory.get());
    if (sessionsElsewhere == 0 && memoryElsewhere == 0) return command;
    return new SessionCommand.Beside(sessionsElsewhere, memoryElsewhere, 0, command);
  }

  /** The command has been answered, or not been taken. */
  void release(SessionCommand command) {
    var claim = claimOf(command);
    sessions.addAndGet(-claim.sessions());
    memory.addAndGet(-claim.memory());
  }

  /** What the other ranges have and all other commands claim; 0 when all fits. */
  private long elsewhere(RangeState range, long most, long claimed, long own, ToLongFunction<RangeState> used) {
    long others = others(range, used);
    if (claimed + others + used.applyAsLong(range) <= most) return 0;
    return claimed - own + others;
  }

  @SuppressWarnings("ReferenceEquality") // this very range
  private long others(RangeState range, ToLongFunction<RangeState> used) {
    long sum = 0;
    for (RangeState each : ranges) if (each != range) sum += used.applyAsLong(each);
    return sum;
  }

  private static boolean storesMessages(SessionCommand command) {
    return switch (command) {
      case SessionCommand.Append _, SessionCommand.AppendOfExchange _, SessionCommand.AppendTo _, SessionCommand.AppendToGroup _,
          SessionCommand.AcceptTransfer _, SessionCommand.DrainGroup _ ->
          true;
      default -> false;
    };
  }

  private SessionCommand besideMessages(RangeState range, SessionCommand command) {
    long others = others(range, each -> each.queuedBytes.get());
    if (others + range.queuedBytes.get() <= most.messageBytes() / PLENTY) return command;
    return new SessionCommand.Beside(0, 0, others, command);
  }
}
