package dunlin.inbox.range;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand.Import;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import org.jspecify.annotations.Nullable;

/** Makes sessions from exports: creates one that is not there, and fills its inbox as it was. */
final class Imports {
  /*
   * A message keeps its sequence, from which its packet identifier follows. So a client finds the exchanges that it has begun, and what comes again is recognised.
   *
   * Owner: the applying thread.
   * Bounds: those of the command. The bounds of sessions and inboxes hold as they do for clients.
   * Failure: the session belongs to the connection of its import until that has ended. If the import is not ended, the connection counts as lost some time, and the
   * session ends.
   */
  private final RangeState state;
  private final Inboxes inboxes;
  private final SessionLife life;

  Imports(RangeState state, Inboxes inboxes, SessionLife life) {
    this.state = state;
    this.inboxes = inboxes;
    this.life = life;
  }

  /** Answers Stale when there is such a session, which this import has not begun. */
  Outcome apply(Change change, Import command) {
    InboxClient.Connect request = command.request();
    SessionKey key = new SessionKey(request.tenant(), request.clientId());
    SessionState session = state.sessions.get(key);
    if (session == null || !SessionLife.lives(session, change.now())) {
      Outcome begun = life.connect(change, request);
      if (!(begun instanceof Outcome.Connected)) return begun;
      session = state.sessions.get(key);
    } else if (!isOfSameLife(session.owner, request.connection())) {
      return new Outcome.Stale();
    }
    if (session == null) throw new IllegalStateException("no session after its first connection: " + key);
    for (int packetId : command.received()) if (!session.hasReceived(packetId)) SessionLife.received(state, change, session, packetId, null);
    return append(change, session, command);
  }

  private static boolean isOfSameLife(@Nullable ConnectionId owner, ConnectionId connection) {
    return owner != null && owner.frontend().equals(connection.frontend()) && owner.incarnation() == connection.incarnation();
  }

  private Outcome append(Change change, SessionState session, Import command) {
    long sentBelow = session.sentBelow();
    int stored = 0;
    int refused = 0;
    for (InboxMessage message : command.messages()) {
      Backlog inbox = session.backlog();
      if (message.sequence() < inbox.next) continue;
      inboxes.skipTo(inbox, message.sequence());
      byte[] content = StoredMessage.bytes(message.message());
      if (!inboxes.admit(change, inbox, content.length, message.message())) {
        refused++;
        continue;
      }
      StoredMessage header =
          new StoredMessage(
              message.qos(), message.retain(), message.released(), content.length, StoredMessage.expiresAt(message.message()), message.subscriptionIdentifiers(), null,
              StoredMessage.topic(message.message()), StoredMessage.OWN);
      long sequence = inboxes.write(change, inbox, header, header.toBytes(), content);
      if (message.delivered()) session.sentBelow(sequence + 1);
      stored++;
    }
    if (session.sentBelow() != sentBelow) SessionLife.writeRecord(change, session);
    return new Outcome.Imported(new SessionRef(session.key.tenant(), session.key.clientId(), session.epoch), stored, refused);
  }
}
