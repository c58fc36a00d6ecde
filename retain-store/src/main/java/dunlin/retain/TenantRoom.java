package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.TenantQuota;
import dunlin.retain.RetainRangeClient.Held;
import dunlin.retain.index.SizeClass;
import org.jspecify.annotations.Nullable;

/**
 * The limits of tenants on retained messages. The leader of a range decides, before a message is proposed: a limit that changes while commands are in a log would be decided
 * differently by replicas.
 */
final class TenantRoom {
  /*
   * Owner: any thread.
   * Bounds: none of its own; TenantMessages counts. What other ranges have is known from their last answers, so with several ranges a tenant may exceed its limit by what
   *   the others have stored since.
   * Full: the message is refused and counted, and its tenant has reached the limit.
   */
  private volatile TenantQuota messages = TenantQuota.UNLIMITED;
  private volatile TenantQuota bytes = TenantQuota.UNLIMITED;

  /** Sets the limits. */
  void limit(TenantQuota messagesMax, TenantQuota bytesMax) {
    messages = messagesMax;
    bytes = bytesMax;
  }

  /**
   * What a message of a tenant with a limit may add to a range.
   *
   * @param size bytes of the message and its key
   * @param replaces whether it takes the place of its topic's present message
   */
  record Claim(String tenant, byte[] key, long size, boolean replaces) {}

  /** What a command claims; null when it adds nothing, or its tenant has no limit. */
  @Nullable Claim claimOf(RetainCommand command) {
    return switch (command) {
      case RetainCommand.Set(_, var message) -> claimOf(message, true);
      case RetainCommand.Add(_, _, var message) -> claimOf(message, false);
      case RetainCommand.Clear _, RetainCommand.RemoveExpired _ -> null;
    };
  }

  private @Nullable Claim claimOf(Publication message, boolean replaces) {
    String tenant = message.tenant();
    if (messages.max(tenant) == TenantQuota.NONE && bytes.max(tenant) == TenantQuota.NONE) return null;
    byte[] key = TopicKeys.of(message);
    return new Claim(tenant, key, key.length + SizeClass.bytes(Byte.toUnsignedInt(SizeClass.of(message.encodedLength()))), replaces);
  }

  /**
   * Claims what a message may add, until it is released.
   *
   * @param elsewhere what the tenant has in other ranges
   * @return whether it fits; if not, that is noted
   */
  boolean takes(Claim claim, RetainRange in, Held elsewhere) {
    String tenant = claim.tenant();
    var most = new Held(messages.max(tenant) - elsewhere.messages(), bytes.max(tenant) - elsewhere.bytes());
    var full = in.tenants().claim(tenant, claim.key(), claim.size(), claim.replaces(), in::sizeOf, most);
    if (full == null) return true;
    switch (full) {
      case MESSAGES -> messages.reached(tenant);
      case BYTES -> bytes.reached(tenant);
    }
    return false;
  }
}
