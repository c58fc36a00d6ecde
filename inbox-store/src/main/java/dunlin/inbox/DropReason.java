package dunlin.inbox;

import java.util.Locale;

/** Why a message was not delivered to a session; the {@code reason} tag of {@code dunlin.inbox.dropped}. */
enum DropReason {
  /** Made room for a newer one. */
  OLDEST,
  /** Came to a full inbox. */
  NEWEST,
  /** Came to a full inbox, and its publisher was told. */
  REJECTED,
  /** Its Message Expiry Interval passed in the inbox. */
  EXPIRED,
  /** Its session ended. */
  SESSION_ENDED,
  /** The last member of its group left. */
  GROUP_ENDED,
  /** QoS 0 to a session without a connection. It never was in an inbox, so it is not counted as appended. */
  OFFLINE;

  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
