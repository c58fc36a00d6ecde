package dunlin.inbox.remote;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.KeptConnections.Owner;
import dunlin.model.Publication;
import dunlin.transport.Terms;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.Messages;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the session tier says, in the frames of one link; one of these on each side. A message for several connections in a row is said once.
 *
 * <pre>
 *   0 PUSH         connection, flags (MessageFlags, and the bit below), sequence, how many subscription identifiers, these, and the message
 *                  as in Messages, unless it is that of the push before
 *   1 BEHIND, 2 DISPLACED, 3 DISMISSED, 4 ASK_SETTLED    connection
 *   5 ANSWER       number of the call, length, bytes
 *   6 ATTACHED
 *   7 COMPARING
 *   8 ASK_MISSING  how many, and for each connection and epoch
 *   9 COMPARED
 * </pre>
 */
final class TierMessageCodec {
  /*
   * Owner: the link's thread.
   * Bounds: one message, and the publishers of Messages.
   */
  private static final int PUSH = 0;
  private static final int BEHIND = 1;
  private static final int DISPLACED = 2;
  private static final int DISMISSED = 3;
  private static final int ASK_SETTLED = 4;
  private static final int ANSWER = 5;
  private static final int ATTACHED = 6;
  private static final int COMPARING = 7;
  private static final int ASK_MISSING = 8;
  private static final int COMPARED = 9;

  private static final int SAME_MESSAGE = MessageFlags.FREE;

  private final Messages messages = new Messages();
  private @Nullable Publication last;

  void write(FrameWriter out, TierMessage said) {
    switch (said) {
      case TierMessage.Push(var connection, var message) -> writePush(out, connection, message);
      case TierMessage.Behind(var connection) -> out.octet(BEHIND).number(connection);
      case TierMessage.Displaced(var connection) -> out.octet(DISPLACED).number(connection);
      case TierMessage.Dismissed(var connection) -> out.octet(DISMISSED).number(connection);
      case TierMessage.AskSettled(var connection) -> out.octet(ASK_SETTLED).number(connection);
      case TierMessage.Answer(var number, var bytes) -> out.octet(ANSWER).number(number).bytes(bytes);
      case TierMessage.Attached() -> out.octet(ATTACHED);
      case TierMessage.Comparing() -> out.octet(COMPARING);
      case TierMessage.AskMissing(var owners) -> {
        out.octet(ASK_MISSING).number(owners.size());
        for (Owner owner : owners) out.number(owner.connection()).number(owner.epoch());
      }
      case TierMessage.Compared() -> out.octet(COMPARED);
    }
  }

  @SuppressWarnings("ReferenceEquality") // it is the same object that goes to several connections
  private void writePush(FrameWriter out, long connection, InboxMessage message) {
    boolean same = message.message() == last;
    int flags = MessageFlags.of(message) | (same ? SAME_MESSAGE : 0);
    out.octet(PUSH).number(connection).octet(flags).number(message.sequence()).number(message.subscriptionIdentifiers().length);
    for (int identifier : message.subscriptionIdentifiers()) out.number(identifier);
    if (!same) messages.write(out, message.message(), Terms.ANSWERED);
    last = message.message();
  }

  TierMessage read(FrameReader in) throws MalformedFrameException {
    int kind = in.octet();
    return switch (kind) {
      case PUSH -> readPush(in);
      case BEHIND -> new TierMessage.Behind(in.number());
      case DISPLACED -> new TierMessage.Displaced(in.number());
      case DISMISSED -> new TierMessage.Dismissed(in.number());
      case ASK_SETTLED -> new TierMessage.AskSettled(in.number());
      case ANSWER -> new TierMessage.Answer(in.number(), in.bytes());
      case ATTACHED -> new TierMessage.Attached();
      case COMPARING -> new TierMessage.Comparing();
      case ASK_MISSING -> new TierMessage.AskMissing(readOwners(in));
      case COMPARED -> new TierMessage.Compared();
      default -> throw new MalformedFrameException("kind " + kind + " of what the session tier says");
    };
  }

  private static List<Owner> readOwners(FrameReader in) throws MalformedFrameException {
    int count = in.countWithin();
    var owners = new ArrayList<Owner>(count);
    for (int i = 0; i < count; i++) owners.add(new Owner(in.number(), in.number()));
    return owners;
  }

  private TierMessage.Push readPush(FrameReader in) throws MalformedFrameException {
    long connection = in.number();
    int flags = in.octet();
    if (!MessageFlags.areValid(flags & ~SAME_MESSAGE)) throw new MalformedFrameException("flags " + flags + " of a push");
    long sequence = in.number();
    if (sequence < 0) throw new MalformedFrameException("sequence " + sequence);
    int[] identifiers = new int[in.countWithin()];
    for (int i = 0; i < identifiers.length; i++) identifiers[i] = in.count(Integer.MAX_VALUE);
    Publication message = (flags & SAME_MESSAGE) != 0 ? last : messages.read(in).message();
    if (message == null) throw new MalformedFrameException("a push of the message before, and there was none");
    last = message;
    return new TierMessage.Push(connection, MessageFlags.message(sequence, flags & ~SAME_MESSAGE, identifiers, message));
  }
}
