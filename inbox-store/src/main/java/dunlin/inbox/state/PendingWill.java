package dunlin.inbox.state;

import dunlin.inbox.rows.SessionKey;

/** A will that may have to be published; the message itself is a row. */
public final class PendingWill {
  /** The will is not due: the connection that left it still exists. */
  public static final long NOT_DUE = 0;

  public final SessionKey session;

  /** The epoch of the connection that left it; unique in the range. */
  public final long epoch;

  public final long delaySeconds;

  /** When it is to be published, milliseconds since 1970, or {@link #NOT_DUE}. */
  public long dueAt;

  /** When it is reported next; later than {@link #dueAt} if it was reported before. */
  public long reportAt;

  public PendingWill(SessionKey session, long epoch, long delaySeconds, long dueAt) {
    this.session = session;
    this.epoch = epoch;
    this.delaySeconds = delaySeconds;
    this.dueAt = dueAt;
    this.reportAt = dueAt;
  }
}
