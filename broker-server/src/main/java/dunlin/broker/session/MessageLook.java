package dunlin.broker.session;

import dunlin.broker.client.ClientsMXBean.InFlightRow;
import dunlin.broker.client.ClientsMXBean.QueuedRow;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.runtime.FirstRows;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Shows an operator the messages between a live session and its client, and those that wait for it. Nothing is changed. */
public final class MessageLook {
  /*
   * Owner: the connection's event loop, to which each call belongs.
   * Bounds: looks at what is in flight to the client and from it, at most 65,535 messages each way, and at the queue up to the last row. Only a page of them becomes
   * rows, and their payloads are not read.
   */
  private MessageLook() {}

  /** A publish of the client; null when its PUBREC was sent, since then only the packet identifier is kept. */
  private record Inbound(int packetId, @Nullable PendingPublish publish) {}

  /** The first exchanges behind a place: those to the client, then those from it, by their packet identifiers. */
  public static List<InFlightRow> inFlight(LiveSession session, long after, int max) {
    long now = session.loop().nowMillis();
    List<InFlightRow> rows = new ArrayList<>();
    Outbound out = session.outboundIfAny();
    if (out != null && after < InFlightRow.FROM_CLIENT) {
      var first = new FirstRows<Outgoing>(Comparator.comparingInt(message -> SendWindow.packetId(message.sequence)), max);
      out.visitInFlight(
          message -> {
            if (SendWindow.packetId(message.sequence) > after) first.offer(message);
          });
      for (Outgoing each : first.inOrder()) rows.add(row(each, now));
    }
    InboundPublishes in = session.inboundIfAny();
    if (in != null && rows.size() < max) {
      var first = new FirstRows<Inbound>(Comparator.comparingInt(Inbound::packetId), max - rows.size());
      long behind = after - InFlightRow.FROM_CLIENT;
      Set<Integer> unanswered = new HashSet<>();
      in.visitUnanswered(
          publish -> {
            if (publish.qos() == QoS.EXACTLY_ONCE) unanswered.add(publish.packetId());
            if (publish.packetId() > behind) first.offer(new Inbound(publish.packetId(), publish));
          });
      in.unreleasedIds()
          .filter(packetId -> packetId > behind && !unanswered.contains(packetId))
          .forEach(packetId -> first.offer(new Inbound(packetId, null)));
      for (Inbound each : first.inOrder()) rows.add(row(each, now));
    }
    return rows;
  }

  private static InFlightRow row(Outgoing sent, long now) {
    Publication message = sent.message;
    String state = sent.released ? InFlightRow.RELEASED : sent.recording ? InFlightRow.RECEIVED : InFlightRow.SENT;
    return new InFlightRow(
        InFlightRow.OUT, SendWindow.packetId(sent.sequence), sent.qos.code(), state, message.topic(), message.publisher().clientId(), sent.size(),
        text(message.acceptedAtMillis()), seconds(now - message.acceptedAtMillis()));
  }

  private static InFlightRow row(Inbound each, long now) {
    PendingPublish publish = each.publish();
    if (publish == null) return new InFlightRow(InFlightRow.IN, each.packetId(), QoS.EXACTLY_ONCE.code(), InFlightRow.RECEIVED, "", "", -1, "", -1);
    return new InFlightRow(
        InFlightRow.IN, each.packetId(), publish.qos().code(), publish.finished() ? InFlightRow.ANSWERED : InFlightRow.DELIVERING, "", "", publish.size(),
        text(publish.acceptedAtMillis()), seconds(now - publish.acceptedAtMillis()));
  }

  /** The first messages that wait for the client behind so many. */
  public static List<QueuedRow> queue(LiveSession session, long after, int max) {
    Outbound out = session.outboundIfAny();
    if (out == null) return List.of();
    long now = session.loop().nowMillis();
    List<QueuedRow> rows = new ArrayList<>();
    for (Outgoing each : out.queuedBehind(after, max)) {
      Publication message = each.message;
      rows.add(
          new QueuedRow(
              (int) after + rows.size() + 1, message.topic(), each.qos.code(), each.retain, message.publisher().clientId(), each.size(), message.payloadLength(),
              text(message.acceptedAtMillis()), seconds(now - message.acceptedAtMillis()), expiry(message)));
    }
    return rows;
  }

  private static String expiry(Publication message) {
    if (message.expiryOffset() < 0) return "";
    return text(message.acceptedAtMillis() + Integer.toUnsignedLong(message.expirySeconds()) * 1_000);
  }

  private static String text(long millis) {
    return Instant.ofEpochMilli(millis).toString();
  }

  private static long seconds(long millis) {
    return Math.max(0, millis) / 1_000;
  }
}
