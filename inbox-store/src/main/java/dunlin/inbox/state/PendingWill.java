package dunlin.inbox.state;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.rows.SessionKey;
import dunlin.transport.Terms;
import org.jspecify.annotations.Nullable;

/** A will that may have to be published; the message itself is a row. */
public final class PendingWill {
  /** The will is not due: the connection that left it still exists. */
  public static final long NOT_DUE = 0;

  public final SessionKey session;

  /** The epoch of the connection that left it; unique in the cluster, since a will is known by it in other ranges, too. */
  public final long epoch;

  /** The user of the session; empty for none. */
  public final String user;

  public final long delaySeconds;

  /** When it is to be published, milliseconds since 1970, or {@link #NOT_DUE}. */
  public long dueAt;

  /** When it is reported next; later than {@link #dueAt} if it was reported before. */
  public long reportAt;

  /**
   * The connection that left it, if another one has displaced it: its client may have sent DISCONNECT before that. In memory only: the next leader and a
   * restarted one publish the will without asking.
   */
  public @Nullable ConnectionId displaced;

  /**
   * The origin of its message once that is stored: with what was picked for its groups. Null before, and for one whose sending is not recorded. It is part of the row.
   */
  public Terms.@Nullable Origin stored;

  /** Whether it was reported, and so may have been sent. In memory only: a replica that has read its row does not know, and takes each that is due for such a one. */
  public boolean reported;

  public PendingWill(SessionKey session, long epoch, String user, long delaySeconds, long dueAt) {
    this.session = session;
    this.epoch = epoch;
    this.user = user;
    this.delaySeconds = delaySeconds;
    this.dueAt = dueAt;
    this.reportAt = dueAt;
  }
}
