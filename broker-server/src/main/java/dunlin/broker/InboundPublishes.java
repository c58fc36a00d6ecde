package dunlin.broker;

import dunlin.broker.codec.InboundPublish;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import java.util.ArrayDeque;
import java.util.BitSet;

/**
 * What one client publishes: hands it to the lane and the retained messages, and acknowledges it in the order in which it
 * came [MQTT-4.6.0-2, -3] once everybody has answered. The receiver's half of QoS 1 and 2; MQTT 5, section 4.3.
 */
final class InboundPublishes {
  /*
   * Owner: the connection's event loop.
   * Bounds: at most Receive Maximum publishes unacknowledged. A client of MQTT 5 that sends more breaks the protocol (0x93);
   *   one of MQTT 3, which knows no such limit, is not read from until there is room.
   * Failure: an error code for MQTT 5. MQTT 3 has none, so the connection is closed without an acknowledgement and the client
   *   sends the message again.
   */
  private final LiveSession session;
  private final int receiveMaximum;

  private final ArrayDeque<PendingPublish> pending = new ArrayDeque<>(4);

  /** Packet identifiers of QoS 2 that have come and were not released. */
  private final BitSet received = new BitSet();

  private int receivedCount;
  private int pendingQos1;

  InboundPublishes(LiveSession session, int receiveMaximum, int[] receivedPacketIds) {
    this.session = session;
    this.receiveMaximum = receiveMaximum;
    for (int packetId : receivedPacketIds) markReceived(packetId);
  }

  void publish(InboundPublish packet) {
    Loop loop = session.loop();
    QoS qos = packet.qos();
    if (qos == QoS.EXACTLY_ONCE && received.get(packet.packetId())) {
      repeated(packet.packetId());
      return;
    }
    if (qos != QoS.AT_MOST_ONCE && pendingQos1 + receivedCount >= receiveMaximum && session.version().hasProperties()) {
      session.connection().fail(
          ReasonCode.RECEIVE_MAXIMUM_EXCEEDED, "more than " + receiveMaximum + " unacknowledged publishes");
      return;
    }
    boolean recorded = session.durable() && qos == QoS.EXACTLY_ONCE;
    Publication message =
        packet.toPublication(
            session.publisher(),
            loop.nowMillis(),
            recorded ? new Publication.Exchange(session.ref().epoch(), packet.packetId()) : null);
    loop.counts().publishes().received();
    if (ServersTopics.has(message)) {
      refuse(packet, message);
    } else if (qos == QoS.AT_MOST_ONCE) {
      if (message.retain()) retainUnacknowledged(message);
      loop.lane().append(message, null);
      loop.counts().publishes().delivered();
    } else {
      PendingPublish publish = new PendingPublish(session, packet.packetId(), qos, message.body().length);
      if (qos == QoS.EXACTLY_ONCE) {
        markReceived(packet.packetId());
      } else {
        pendingQos1++;
      }
      pending.add(publish);
      loop.counts().publishes().waiting(1);
      loop.window().take(publish.size());
      if (message.retain()) {
        publish.expect();
        session.frontend().retain().set(message, publish::answer);
      }
      loop.lane().append(message, publish);
      publish.answer(ReasonCode.SUCCESS);
      if (pending.size() >= receiveMaximum) session.connection().hold(Connection.Hold.PENDING);
    }
    if (loop.window().exhausted()) session.connection().holdForCredit();
  }

  /** The client may not publish this: it is not handed on, and told in its turn where QoS and version allow it. */
  private void refuse(InboundPublish packet, Publication message) {
    Loop loop = session.loop();
    if (packet.qos() == QoS.AT_MOST_ONCE) {
      loop.counts().publishes().dropped(DropReason.NOT_AUTHORIZED);
      return;
    }
    PendingPublish publish = new PendingPublish(session, packet.packetId(), packet.qos(), message.body().length);
    if (packet.qos() == QoS.EXACTLY_ONCE) markReceived(packet.packetId());
    else pendingQos1++;
    pending.add(publish);
    loop.counts().publishes().waiting(1);
    loop.window().take(publish.size());
    publish.answer(ReasonCode.NOT_AUTHORIZED);
  }

  /** A retained message of QoS 0 has nobody who waits for it, but it holds credit while the store works on it. */
  private void retainUnacknowledged(Publication message) {
    Loop loop = session.loop();
    int size = message.body().length;
    loop.window().take(size);
    session.frontend().retain().set(
        message,
        reason ->
            loop.run(
                () -> {
                  loop.window().give(1, size);
                  if (reason.isError()) session.frontend().storeFailures().increment();
                }));
  }

  /** All answers for a publish are in. */
  void finished(PendingPublish finished) {
    Loop loop = session.loop();
    loop.window().give(1, finished.size());
    loop.counts().publishes().waiting(-1);
    if (finished.reason().isError()) {
      loop.counts().publishes().dropped(dropReason(finished.reason()));
    } else {
      loop.counts().publishes().delivered();
    }
    for (PendingPublish head = pending.peek(); head != null && head.finished(); head = pending.peek()) {
      pending.remove();
      if (head.qos() == QoS.AT_LEAST_ONCE) pendingQos1--;
      if (!session.ended()) acknowledge(head);
    }
    if (pending.size() <= receiveMaximum / 2) session.connection().resume(Connection.Hold.PENDING);
  }

  private static DropReason dropReason(ReasonCode reason) {
    return switch (reason) {
      case QUOTA_EXCEEDED -> DropReason.NO_MEMBER;
      case NOT_AUTHORIZED -> DropReason.NOT_AUTHORIZED;
      default -> DropReason.OVERLOADED;
    };
  }

  private void acknowledge(PendingPublish publish) {
    ReasonCode reason = publish.reason();
    if (reason.isError() && !session.version().hasProperties()) {
      session.connection().fail(reason, "publish " + publish.packetId() + " was refused or could not be stored");
      return;
    }
    if (!reason.isError() && !publish.matched()) reason = ReasonCode.NO_MATCHING_SUBSCRIBERS;
    if (publish.qos() == QoS.AT_LEAST_ONCE) {
      session.connection().writePuback(publish.packetId(), reason);
    } else {
      if (reason.isError()) unmarkReceived(publish.packetId());
      session.connection().writePubrec(publish.packetId(), reason);
    }
  }

  /** The client repeats a PUBLISH: PUBREC again, but never a second delivery [MQTT-4.3.3-10]. */
  private void repeated(int packetId) {
    for (PendingPublish publish : pending) {
      if (publish.packetId() == packetId && publish.qos() == QoS.EXACTLY_ONCE) return; // its PUBREC is still to come
    }
    session.connection().writePubrec(packetId, ReasonCode.SUCCESS);
  }

  /** PUBREL: the identifier is free again once that is as durable as the session is [MQTT-4.3.3-11]. */
  void pubrel(int packetId) {
    if (!received.get(packetId)) {
      session.connection().writePubcomp(packetId, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND);
      return;
    }
    if (!session.durable()) {
      unmarkReceived(packetId);
      session.connection().writePubcomp(packetId, ReasonCode.SUCCESS);
      return;
    }
    session.operationBegins();
    session.frontend().inbox().released(session.ref(), packetId).whenComplete(
        (_, failure) ->
            session.loop().post(
                () -> {
                  session.operationEnds();
                  if (session.ended()) return;
                  if (failure != null) {
                    session.connection().storeFailed("release of packet " + packetId, failure);
                    return;
                  }
                  unmarkReceived(packetId);
                  session.connection().writePubcomp(packetId, ReasonCode.SUCCESS);
                }));
  }

  private void markReceived(int packetId) {
    if (!received.get(packetId)) receivedCount++;
    received.set(packetId);
  }

  private void unmarkReceived(int packetId) {
    if (received.get(packetId)) receivedCount--;
    received.clear(packetId);
  }
}
