package dunlin.inbox.rows;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.transport.Terms;

/** Encodes the fields that session commands, session rows and the messages between processes have in common. */
public final class SessionFields {
  private SessionFields() {}

  public static void writePublication(FieldWriter out, Publication value) {
    out.value(value, value.encodedLength(), Publication::writeTo);
  }

  public static Publication readPublication(FieldReader in) {
    return in.value(Publication::readFrom);
  }

  public static void writeFilter(FieldWriter out, TopicFilter value) {
    out.text(value.text());
  }

  public static TopicFilter readFilter(FieldReader in) {
    String text = in.text();
    return TopicFilter.parse(text).orElseThrow(() -> new IllegalStateException("not a topic filter: " + text));
  }

  public static void writeOptions(FieldWriter out, SubscriptionOptions value) {
    out.octet(
        value.maximumQoS().code()
            | (value.noLocal() ? 0x04 : 0)
            | (value.retainAsPublished() ? 0x08 : 0)
            | value.retainHandling() << 4);
    out.number(value.subscriptionIdentifier());
  }

  public static SubscriptionOptions readOptions(FieldReader in) {
    int octet = in.octet();
    if (octet > 0x3F) throw new IllegalStateException("subscription options " + octet);
    return new SubscriptionOptions(
        QoS.of(octet & 0x03), (octet & 0x04) != 0, (octet & 0x08) != 0, octet >> 4, in.count())
        .shared();
  }

  public static void writeSession(FieldWriter out, SessionRef value) {
    out.text(value.tenant());
    out.text(value.clientId());
    out.number(value.epoch());
  }

  public static SessionRef readSession(FieldReader in) {
    return new SessionRef(in.text(), in.text(), in.number());
  }

  public static void writeSubscription(FieldWriter out, InboxClient.Subscription value) {
    writeFilter(out, value.filter());
    writeOptions(out, value.options());
  }

  public static InboxClient.Subscription readSubscription(FieldReader in) {
    return new InboxClient.Subscription(readFilter(in), readOptions(in));
  }

  public static void writeRequest(FieldWriter out, InboxClient.Connect value) {
    out.text(value.tenant());
    out.text(value.clientId());
    out.text(value.user());
    writeConnection(out, value.connection());
    out.flag(value.cleanStart());
    out.flag(value.durable());
    out.number(value.sessionExpirySeconds());
    var will = value.will();
    out.flag(will != null);
    if (will != null) {
      writePublication(out, will.message());
      out.number(will.delaySeconds());
    }
  }

  public static InboxClient.Connect readRequest(FieldReader in) {
    return new InboxClient.Connect(
        in.text(),
        in.text(),
        in.text(),
        readConnection(in),
        in.flag(),
        in.flag(),
        in.number(),
        in.flag() ? new InboxClient.Will(readPublication(in), in.number()) : null);
  }

  public static int readPacketId(FieldReader in) {
    int packetId = in.count();
    if (packetId < 1 || packetId > 65_535) throw new IllegalStateException("packet identifier " + packetId);
    return packetId;
  }

  /** A packet identifier, or what stands in its place for a will. */
  static int readPacketIdOrWill(FieldReader in) {
    int packetId = in.count();
    if (packetId > 65_535) throw new IllegalStateException("packet identifier " + packetId);
    return packetId;
  }

  public static void writeOpenExchange(FieldWriter out, OpenExchange value) {
    out.number(value.packetId());
    out.number(value.epoch());
    writeOrigin(out, value.origin());
  }

  public static OpenExchange readOpenExchange(FieldReader in) {
    return new OpenExchange(readPacketId(in), in.number(), readOrigin(in));
  }

  /** The same, or a will in its place. */
  public static OpenExchange readOpenExchangeOrWill(FieldReader in) {
    return new OpenExchange(readPacketIdOrWill(in), in.number(), readOrigin(in));
  }

  public static void writeConnection(FieldWriter out, ConnectionId value) {
    out.text(value.frontend());
    out.number(value.incarnation());
    out.number(value.number());
  }

  public static ConnectionId readConnection(FieldReader in) {
    return new ConnectionId(in.text(), in.number(), in.number());
  }

  /** What a repetition of a message needs to know of its first delivery. */
  public static void writeOrigin(FieldWriter out, Terms.Origin value) {
    out.number(value.stream());
    out.number(value.number());
    out.list(value.picked(), FieldWriter::number);
  }

  /** The origin of a repetition. */
  public static Terms.Origin readOrigin(FieldReader in) {
    long stream = in.number();
    long number = in.number();
    var picked = in.list(FieldReader::number);
    if (number < 0 || picked.size() > Terms.Origin.PICKED_MAX) throw new IllegalStateException("message " + number + " with " + picked.size() + " picks");
    return Terms.Origin.fromRecord(stream, number, picked);
  }
}
