package dunlin.inbox.rows;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;

/** The fields that the commands and the rows of sessions have in common. */
public final class SessionFields {
  private SessionFields() {}

  static void writePublication(FieldWriter out, Publication value) {
    out.value(value, value.encodedLength(), Publication::writeTo);
  }

  static Publication readPublication(FieldReader in) {
    return in.value(Publication::readFrom);
  }

  static void writeFilter(FieldWriter out, TopicFilter value) {
    out.text(value.text());
  }

  static TopicFilter readFilter(FieldReader in) {
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

  static void writeSession(FieldWriter out, SessionRef value) {
    out.text(value.tenant());
    out.text(value.clientId());
    out.number(value.epoch());
  }

  static SessionRef readSession(FieldReader in) {
    return new SessionRef(in.text(), in.text(), in.number());
  }

  public static void writeConnection(FieldWriter out, ConnectionId value) {
    out.text(value.frontend());
    out.number(value.incarnation());
    out.number(value.number());
  }

  public static ConnectionId readConnection(FieldReader in) {
    return new ConnectionId(in.text(), in.number(), in.number());
  }
}
