package dunlin.inbox;

import dunlin.runtime.DropReason;
import java.util.Locale;

/** Why a message was not delivered to a session; the {@code reason} tag of {@code dunlin.inbox.dropped}. */
public enum InboxDropReason {
  /** Made room for a newer one, and its client did not acknowledge it before its connection ended. */
  OLDEST(DropReason.QUEUE_FULL),
  /** Came to a full inbox. */
  NEWEST(DropReason.QUEUE_FULL),
  /** Came to a full inbox, and its publisher was told. */
  REJECTED(DropReason.NOT_DURABLE),
  /** Its Message Expiry Interval passed in the inbox. */
  EXPIRED(DropReason.EXPIRED),
  /** Its session ended. */
  SESSION_ENDED(DropReason.SESSION_ENDED),
  /** The last member of its group left. */
  GROUP_ENDED(DropReason.NO_MEMBER),
  /** QoS 0 to a session without a connection. It never was in an inbox, so it is not counted as appended. */
  OFFLINE(DropReason.OFFLINE);

  private final DropReason common;

  InboxDropReason(DropReason common) {
    this.common = common;
  }

  /** The reason that all hops have in common. */
  public DropReason common() {
    return common;
  }

  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
