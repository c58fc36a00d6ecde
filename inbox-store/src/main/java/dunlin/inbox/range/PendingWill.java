package dunlin.inbox.range;

import dunlin.inbox.rows.SessionKey;

/** A will that may have to be published; the message itself is a row. */
final class PendingWill {
  /** Not due: the connection that left it is still there. */
  static final long NOT_DUE = 0;

  final SessionKey session;

  /** Of the connection that left it; unique in the range. */
  final long epoch;

  final long delaySeconds;

  /** When it is to be published, milliseconds since 1970, or {@link #NOT_DUE}. */
  long dueAt;

  /** When it is next reported; later than {@link #dueAt} when it has been before. */
  long reportAt;

  PendingWill(SessionKey session, long epoch, long delaySeconds, long dueAt) {
    this.session = session;
    this.epoch = epoch;
    this.delaySeconds = delaySeconds;
    this.dueAt = dueAt;
    this.reportAt = dueAt;
  }
}
