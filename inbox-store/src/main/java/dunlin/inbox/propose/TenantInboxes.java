package dunlin.inbox.propose;

import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.state.RangeState;
import dunlin.model.TenantQuota;
import java.util.List;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Bounds the bytes of messages in the inboxes of each tenant, over all ranges. */
public final class TenantInboxes {
  /*
   * How many inboxes a message goes to is known when it is applied, and a full inbox may have to drop its oldest. So a command for a tenant with a limit carries how many
   * bytes all inboxes of the tenant may hold in its range: the limit without what other ranges hold. All replicas decide alike then, and messages of the tenant that are
   * on their way count: they have been applied before it.
   *
   * What only moves, as messages of a group do, is not bounded again, or it could never leave a tenant that has more than a lowered limit. Neither are imports, which
   * operators make.
   *
   * Owner: any thread.
   * Bounds: none of its own. What other ranges hold is read when a command is proposed, and of other nodes known from their last answers. So with several ranges a tenant
   *   may exceed its limit by what the others have stored since.
   * Mixed versions: nodes of earlier versions cannot read such commands. No tenant has a limit until all nodes can (AgreedQuota of the tiers).
   */
  private final List<RangeState> ranges;
  private final ToLongFunction<String> otherNodes;
  private volatile TenantQuota quota = TenantQuota.UNLIMITED;

  /**
   * @param ranges all ranges that the node leads
   * @param otherNodes bytes that a tenant has in ranges of other nodes, as far as they are known
   */
  public TenantInboxes(List<RangeState> ranges, ToLongFunction<String> otherNodes) {
    this.ranges = List.copyOf(ranges);
    this.otherNodes = otherNodes;
  }

  /** Sets the limits. */
  public void limit(TenantQuota bytesMax) {
    quota = bytesMax;
  }

  /** A command with what its tenant's inboxes may hold. */
  record Bounded(SessionCommand command, String tenant) {}

  /** The command with what its tenant's inboxes may hold in a range; null when it adds no messages, or the tenant has no limit. */
  @Nullable Bounded bounded(RangeState range, SessionCommand command) {
    var plain = command instanceof SessionCommand.Beside beside ? beside.command() : command;
    String tenant = tenantOf(plain);
    if (tenant == null) return null;
    long most = mostIn(range, tenant);
    if (most == TenantQuota.NONE) return null;
    var before = command instanceof SessionCommand.Beside beside ? beside : new SessionCommand.Beside(0, 0, 0, plain);
    return new Bounded(new SessionCommand.Beside(before.sessions(), before.memory(), before.messageBytes(), most, plain), tenant);
  }

  /** How many bytes all inboxes of a tenant may hold in a range; {@link TenantQuota#NONE} without a limit. */
  @SuppressWarnings("ReferenceEquality") // compares identity
  public long mostIn(RangeState range, String tenant) {
    long max = quota.max(tenant);
    if (max == TenantQuota.NONE) return max;
    long left = max - otherNodes.applyAsLong(tenant);
    for (RangeState each : ranges) if (each != range) left -= each.queuedByTenant.of(tenant);
    return Math.max(0, left);
  }

  /** The tenant of a command that adds messages to inboxes. */
  private static @Nullable String tenantOf(SessionCommand command) {
    return switch (command) {
      case SessionCommand.Append append -> append.message().tenant();
      case SessionCommand.AppendOfExchange of -> of.append().message().tenant();
      case SessionCommand.AppendTo to -> to.session().tenant();
      case SessionCommand.AppendToGroup to -> to.message().tenant();
      case SessionCommand.AppendToGroupOfExchange of -> of.append().message().tenant();
      default -> null;
    };
  }

  /** Notes that messages of a tenant were dropped or refused. */
  void reached(String tenant) {
    quota.reached(tenant);
  }
}
