package dunlin.inbox;

import java.util.Locale;

/** Why a message was not delivered to a session; the {@code reason} tag of {@code dunlin.inbox.dropped}. */
enum DropReason {
  /** Made room for a newer one, and its client did not acknowledge it before its connection ended. */
  OLDEST(dunlin.runtime.DropReason.QUEUE_FULL),
  /** Came to a full inbox. */
  NEWEST(dunlin.runtime.DropReason.QUEUE_FULL),
  /** Came to a full inbox, and its publisher was told. */
  REJECTED(dunlin.runtime.DropReason.NOT_DURABLE),
  /** Its Message Expiry Interval passed in the inbox. */
  EXPIRED(dunlin.runtime.DropReason.EXPIRED),
  /** Its session ended. */
  SESSION_ENDED(dunlin.runtime.DropReason.SESSION_ENDED),
  /** The last member of its group left. */
  GROUP_ENDED(dunlin.runtime.DropReason.NO_MEMBER),
  /** QoS 0 to a session without a connection. It never was in an inbox, so it is not counted as appended. */
  OFFLINE(dunlin.runtime.DropReason.OFFLINE);

  private final dunlin.runtime.DropReason common;

  DropReason(dunlin.runtime.DropReason common) {
    this.common = common;
  }

  /** The reason that all hops have in common. */
  dunlin.runtime.DropReason common() {
    return common;
  }

  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
