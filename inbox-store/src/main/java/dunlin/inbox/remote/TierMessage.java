package dunlin.inbox.remote;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.KeptConnections.Owner;
import java.util.List;

/** What the session tier says to a frontend, in one order: what it asks and tells its connections, and answers. Connections go by their number. */
sealed interface TierMessage {
  /** The frontend is attached in the life of this link: the first CONNECT is made. */
  record Attached() implements TierMessage {}

  record Push(long connection, InboxMessage message) implements TierMessage {}

  record Behind(long connection) implements TierMessage {}

  record Displaced(long connection) implements TierMessage {}

  record Dismissed(long connection) implements TierMessage {}

  /** The tier begins to compare the connections that sessions name with those of the frontend. */
  record Comparing() implements TierMessage {}

  /** Asks for {@link InboxCall.AreMissing}. */
  record AskMissing(List<Owner> owners) implements TierMessage {}

  record Compared() implements TierMessage {}

  /** Asks for {@link InboxCall.HasSettled}, once a connection has. */
  record AskSettled(long connection) implements TierMessage {}

  /**
   * @param number of the call
   * @param bytes as {@link AnswerForm} writes them
   */
  record Answer(long number, byte[] bytes) implements TierMessage {}
}
