package dunlin.inbox.remote;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.KeptConnections.Owner;
import java.util.List;

/** What the session tier says to a frontend, in one order: what it asks and tells its connections, and answers. Connections go by their number. */
sealed interface TierSaid {
  /** The frontend is attached in the life of this link: the first CONNECT is made. */
  record Attached() implements TierSaid {}

  record Push(long connection, InboxMessage message) implements TierSaid {}

  record Behind(long connection) implements TierSaid {}

  record Displaced(long connection) implements TierSaid {}

  record Dismissed(long connection) implements TierSaid {}

  /** The tier begins to compare the connections that sessions name with those of the frontend. */
  record Comparing() implements TierSaid {}

  /** Asks for {@link InboxCall.AreMissing}. */
  record AskMissing(List<Owner> owners) implements TierSaid {}

  record Compared() implements TierSaid {}

  /** Asks for {@link InboxCall.HasSettled}, once a connection has. */
  record AskSettled(long connection) implements TierSaid {}

  /**
   * @param number of the call
   * @param bytes as {@link AnswerForm} writes them
   */
  record Answer(long number, byte[] bytes) implements TierSaid {}
}
