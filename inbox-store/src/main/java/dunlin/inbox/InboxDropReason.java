package dunlin.inbox;

import dunlin.runtime.DropReason;
import java.util.Locale;

/** Why a message was not delivered to a session; the {@code reason} tag of {@code dunlin.inbox.dropped}. */
public enum InboxDropReason {
  /** Dropped to make room for a newer message, and not acknowledged before its client's connection ended. */
  OLDEST(DropReason.QUEUE_FULL),
  /** Arrived at a full inbox. */
  NEWEST(DropReason.QUEUE_FULL),
  /** Arrived when the inboxes of its tenant held as much as they may, or was dropped then to make room for a newer message. */
  TENANT_FULL(DropReason.QUEUE_FULL),
  /** Arrived at a full inbox, and the publish was rejected. */
  REJECTED(DropReason.NOT_DURABLE),
  /** Its Message Expiry Interval passed in the inbox. */
  EXPIRED(DropReason.EXPIRED),
  /** Its session ended. */
  SESSION_ENDED(DropReason.SESSION_ENDED),
  /** The last member of its group left. */
  GROUP_ENDED(DropReason.NO_MEMBER),
  /**
   * QoS 0 to a session without a connection. Such a message was never in an inbox, so it does not count as appended.
   */
  OFFLINE(DropReason.OFFLINE),
  /** QoS 0 of a message that is sent again inside the broker. It does not count as appended either. */
  REPEATED(DropReason.REPEATED);

  private final DropReason common;

  InboxDropReason(DropReason common) {
    this.common = common;
  }

  /** The corresponding reason of the loss accounting that all hops share. */
  public DropReason common() {
    return common;
  }

  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
