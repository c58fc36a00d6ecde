package dunlin.inbox.remote;

import static dunlin.inbox.rows.SessionFields.readConnection;
import static dunlin.inbox.rows.SessionFields.readFilter;
import static dunlin.inbox.rows.SessionFields.readOptions;
import static dunlin.inbox.rows.SessionFields.readPacketId;
import static dunlin.inbox.rows.SessionFields.readPublication;
import static dunlin.inbox.rows.SessionFields.readRequest;
import static dunlin.inbox.rows.SessionFields.readSession;
import static dunlin.inbox.rows.SessionFields.writeConnection;
import static dunlin.inbox.rows.SessionFields.writeFilter;
import static dunlin.inbox.rows.SessionFields.writeOptions;
import static dunlin.inbox.rows.SessionFields.writePublication;
import static dunlin.inbox.rows.SessionFields.writeRequest;
import static dunlin.inbox.rows.SessionFields.writeSession;
import static dunlin.inbox.rows.SessionFields.writeSubscription;

import dunlin.inbox.rows.SessionFields;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.transport.lane.MalformedFrameException;

/** A call between processes: a kind byte, then the fields in the order in which the records declare them, as in the log. */
final class InboxCallCodec {
  private static final int CONNECT = 1;
  private static final int SUBSCRIBE = 2;
  private static final int UNSUBSCRIBE = 3;
  private static final int DISCONNECT = 4;
  private static final int SETTLED = 5;
  private static final int APPEND = 6;
  private static final int APPEND_TO_GROUP = 7;
  private static final int RECEIVED = 8;
  private static final int RELEASED = 9;
  private static final int FETCH = 10;
  private static final int STATISTICS = 11;
  private static final int ACKNOWLEDGE = 12;
  private static final int MISSING = 13;
  private static final int HAS_SETTLED = 14;
  private static final int ARE_MISSING = 15;
  private static final int DELIVERED = 16;
  private static final int FORGET = 17;
  private static final int IS_TAKEN_OVER = 18;

  private InboxCallCodec() {}

  static byte[] encode(InboxCall call) {
    return FieldWriter.bytesOf(out -> write(call, out));
  }

  static InboxCall decode(byte[] bytes) throws MalformedFrameException {
    try {
      return FieldReader.read(bytes, InboxCallCodec::read);
    } catch (IllegalStateException e) {
      throw new MalformedFrameException("a call that cannot be read: " + e.getMessage());
    }
  }

  private static void write(InboxCall call, FieldWriter out) {
    switch (call) {
      case InboxCall.Connect(var request) -> {
        out.octet(CONNECT);
        writeRequest(out, request);
      }
      case InboxCall.Subscribe(var session, var subscriptions) -> {
        out.octet(SUBSCRIBE);
        writeSession(out, session);
        out.list(subscriptions, SessionFields::writeSubscription);
      }
      case InboxCall.Unsubscribe(var session, var filters) -> {
        out.octet(UNSUBSCRIBE);
        writeSession(out, session);
        out.list(filters, SessionFields::writeFilter);
      }
      case InboxCall.Disconnect(var session, var publishWill, var expirySeconds) -> {
        out.octet(DISCONNECT);
        writeSession(out, session);
        out.flag(publishWill);
        out.number(expirySeconds);
      }
      case InboxCall.Settled(var displaced) -> {
        out.octet(SETTLED);
        writeConnection(out, displaced);
      }
      case InboxCall.Append(var session, var options, var from, var retained) -> {
        out.octet(APPEND);
        writeSession(out, session);
        writeOptions(out, options);
        out.number(from);
        out.list(retained, SessionFields::writePublication);
      }
      case InboxCall.AppendToGroup(var group, var message, var exchange) -> {
        out.octet(APPEND_TO_GROUP);
        writeFilter(out, group);
        writePublication(out, message);
        out.flag(exchange != null);
        if (exchange != null) SessionFields.writeOpenExchange(out, exchange);
      }
      case InboxCall.Received(var session, var sequence) -> {
        out.octet(RECEIVED);
        writeSession(out, session);
        out.number(sequence);
      }
      case InboxCall.Released(var session, var birth, var packetId) -> {
        out.octet(RELEASED);
        writeSession(out, session);
        out.number(birth);
        out.number(packetId);
      }
      case InboxCall.Forget(var session, var birth, var packetId) -> {
        out.octet(FORGET);
        writeSession(out, session);
        out.number(birth);
        out.number(packetId);
      }
      case InboxCall.Delivered(var session, var packetIds) -> {
        out.octet(DELIVERED);
        writeSession(out, session);
        out.list(packetIds, (to, packetId) -> to.number(packetId));
      }
      case InboxCall.IsTakenOver(var session) -> {
        out.octet(IS_TAKEN_OVER);
        writeSession(out, session);
      }
      case InboxCall.Fetch(var session, var fromSequence, var messagesMax, var bytesMax) -> {
        out.octet(FETCH);
        writeSession(out, session);
        out.number(fromSequence);
        out.number(messagesMax);
        out.number(bytesMax);
      }
      case InboxCall.Statistics() -> out.octet(STATISTICS);
      case InboxCall.Acknowledge(var session, var sequences) -> {
        out.octet(ACKNOWLEDGE);
        writeSession(out, session);
        out.numbers(sequences);
      }
      case InboxCall.Missing(var connection) -> {
        out.octet(MISSING);
        writeConnection(out, connection);
      }
      case InboxCall.HasSettled(var number) -> {
        out.octet(HAS_SETTLED);
        out.number(number);
      }
      case InboxCall.AreMissing(var number, var connections) -> {
        out.octet(ARE_MISSING);
        out.number(number);
        out.numbers(connections);
      }
    }
  }

  private static InboxCall read(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case CONNECT -> new InboxCall.Connect(readRequest(in));
      case SUBSCRIBE -> new InboxCall.Subscribe(readSession(in), in.list(SessionFields::readSubscription));
      case UNSUBSCRIBE -> new InboxCall.Unsubscribe(readSession(in), in.list(SessionFields::readFilter));
      case DISCONNECT -> new InboxCall.Disconnect(readSession(in), in.flag(), in.number());
      case SETTLED -> new InboxCall.Settled(readConnection(in));
      case APPEND -> new InboxCall.Append(readSession(in), readOptions(in), in.number(), in.list(SessionFields::readPublication));
      case APPEND_TO_GROUP -> new InboxCall.AppendToGroup(readFilter(in), readPublication(in), in.flag() ? SessionFields.readOpenExchangeOrWill(in) : null);
      case RECEIVED -> new InboxCall.Received(readSession(in), in.number());
      case RELEASED -> new InboxCall.Released(readSession(in), in.number(), readPacketId(in));
      case FORGET -> new InboxCall.Forget(readSession(in), in.number(), readPacketId(in));
      case DELIVERED -> new InboxCall.Delivered(readSession(in), in.list(SessionFields::readPacketId));
      case IS_TAKEN_OVER -> new InboxCall.IsTakenOver(readSession(in));
      case FETCH -> new InboxCall.Fetch(readSession(in), in.number(), readMessagesMax(in), in.count());
      case STATISTICS -> new InboxCall.Statistics();
      case ACKNOWLEDGE -> new InboxCall.Acknowledge(readSession(in), in.numbers());
      case MISSING -> new InboxCall.Missing(readConnection(in));
      case HAS_SETTLED -> new InboxCall.HasSettled(in.number());
      case ARE_MISSING -> new InboxCall.AreMissing(in.number(), in.numbers());
      default -> throw new IllegalStateException("kind " + kind);
    };
  }

  private static int readMessagesMax(FieldReader in) {
    int messagesMax = in.count();
    if (messagesMax == 0) throw new IllegalStateException("a page of no messages");
    return messagesMax;
  }
}
