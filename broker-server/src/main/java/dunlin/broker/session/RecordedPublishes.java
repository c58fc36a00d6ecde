package dunlin.broker.session;

import dunlin.broker.loop.FrontendSettings;
import dunlin.inbox.OpenExchange;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Terms;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The publishes of a durable session's client: the session tier records their QoS 2 exchanges, so that they continue
 * over another connection; MQTT 5, sections 4.3.3 and 4.4.
 */
public final class RecordedPublishes {
  /*
   * An exchange is recorded in the log entry that appends its message to all inboxes. From then on, a repeated PUBLISH is
   * only answered with PUBREC. So everything that must survive a crash is done before or in that entry:
   *   1. A message to be retained is set as the retained message first, and goes no further if that fails (RetainLine).
   *   2. It is recorded and appended.
   *   3. It is delivered to connected sessions without expiry, which a crash ends anyway (see RecordedDelivery in the dist
   *      tier).
   *   4. PUBREC is sent. A PUBREC with an error ends the exchange for the client, so the record is deleted before: the
   *      client may use the identifier for another message, which must not be taken for a repetition. A client whose connection is
   *      forsaken gets none, and its record stays: it repeats the message over its next connection.
   * In a cluster a broker may crash between 2 and 3, and connected sessions of other brokers live on. So the record says where the message is from (OpenExchange), until
   * this connection has ended after 3 and has said so. A repeated PUBLISH of such an exchange goes the same way again: inboxes have its message by the record, and frontends
   * recognise it by its origin.
   * A connection that takes over is not read from until the publishes of the old one are settled: a repeated PUBLISH is
   * answered at once if it is recorded, and later ones must not overtake it.
   *
   * Owner: the connection's event loop.
   * Bounds: releases in progress are operations of the session.
   * Failure: publishes behind a refused message of an MQTT 3 client are not recorded. A release that fails ends the
   * connection; the client then continues from the session tier's record. A displaced connection that is not settled is
   * waited for until FOLLOW_MILLIS beyond the longest wait of a message.
   */
  private static final int FOLLOW_MILLIS = 30_000;

  /** Exchanges that one call names. */
  private static final int DELIVERED_MAX = 1_000;

  private final LiveSession session;
  private final InboundPublishes inbound;

  /** By packet identifier, where messages come from that were recorded before this connection and may not be delivered. */
  private final Map<Integer, Terms.Origin> open = new HashMap<>(2);

  /** Packet identifiers whose release is not answered yet, and how many PUBRELs are to be answered with it. */
  private final Map<Integer, Integer> releasing = new HashMap<>(2);

  private final List<Runnable> settling = new ArrayList<>(1);

  /** The timeout of the wait for the displaced connection; null when there is no such wait. */
  private @Nullable ScheduledFuture<?> following;

  RecordedPublishes(LiveSession session, InboundPublishes inbound) {
    this.session = session;
    this.inbound = inbound;
  }

  // ------------------------------------------------------------------------------------------------------------- QoS 2 exchanges

  void open(List<OpenExchange> exchanges) {
    for (OpenExchange each : exchanges) open.put(each.packetId(), each.origin());
  }

  /** Whether the message of an exchange may not be delivered, and the client has not repeated it. */
  boolean isOpen(int packetId) {
    return open.containsKey(packetId);
  }

  /** Where the message of an exchange is from, if it is to be delivered again; null otherwise, and from then on. */
  Terms.@Nullable Origin reopen(int packetId) {
    return open.remove(packetId);
  }

  /** Records that the messages of exchanges are delivered. */
  void delivered(List<Integer> packetIds) {
    for (int from = 0; from < packetIds.size(); from += DELIVERED_MAX) {
      List<Integer> some = packetIds.subList(from, Math.min(from + DELIVERED_MAX, packetIds.size()));
      var _ = session.tiers().inbox().delivered(session.ref(), some);
    }
  }

  /** Whether a publish of QoS 2 must be acknowledged with an error although its exchange is or may be recorded. */
  boolean mayHaveRecord(PendingPublish publish) {
    if (session.ended() || publish.abandoned() || !session.version().hasProperties()) return false;
    ReasonCode reason = publish.reason();
    return switch (reason) {
      case SERVER_BUSY, SESSION_TAKEN_OVER -> false;
      default -> reason.isError();
    };
  }

  /** Deletes the record of a publish, and only then answers with the error. */
  void forget(PendingPublish publish) {
    released(
        publish.packetId(),
        deleted -> {
          if (!deleted) publish.abandon();
          inbound.finished(publish);
        });
  }

  /** Handles PUBREL: the identifier is free again once the release is as durable as the session [MQTT-4.3.3-11]. */
  void release(int packetId) {
    if (inbound.waitsInLine(packetId)) {
      session.connection().violated(ReasonCode.PROTOCOL_ERROR, null, "PUBREL of packet " + packetId + " before its PUBREC");
      return;
    }
    // A second PUBREL makes no call of its own: it might be made when the client already uses the identifier again.
    if (releasing.merge(packetId, 1, Integer::sum) > 1) {
      session.operationBegins();
      return;
    }
    released(
        packetId,
        deleted -> {
          if (!deleted) return;
          int due = Objects.requireNonNull(releasing.remove(packetId));
          inbound.unmarkReceived(packetId);
          for (int i = 0; i < due; i++) {
            if (i > 0) session.operationEnds();
            if (!session.ended()) session.connection().writer().writePubcomp(packetId, ReasonCode.SUCCESS);
          }
        });
  }

  private void released(int packetId, Released then) {
    session.operationBegins();
    session.tiers().inbox().released(session.ref(), session.birth(), packetId).whenComplete(
        (_, failure) ->
            session.loop().post(
                () -> {
                  session.operationEnds();
                  if (failure != null && !session.ended()) {
                    session.connection().storeFailed("release of packet " + packetId, failure);
                  }
                  then.released(failure == null);
                }));
  }

  @FunctionalInterface
  private interface Released {
    void released(boolean deleted);
  }

  // --------------------------------------------------------------------------------------- from one connection to the next

  /** Whether the client is not read from yet, because the previous connection is not settled. */
  boolean follows() {
    return following != null;
  }

  /** See {@link InboundPublishes#follow}. */
  Runnable follow() {
    session.connection().hold(Hold.TAKEOVER);
    long millis = patienceMillis(session.settings());
    following = session.loop().executor().schedule(this::caughtUp, millis, TimeUnit.MILLISECONDS);
    return this::caughtUp;
  }

  /** The maximum wait for the publishes of an ended connection. */
  public static long patienceMillis(FrontendSettings settings) {
    return FOLLOW_MILLIS + settings.groupWaits().acknowledged().toMillis();
  }

  private void caughtUp() {
    if (following == null) return;
    following.cancel(false);
    following = null;
    session.connection().resume(Hold.TAKEOVER);
    finished();
  }

  void whenSettled(Runnable then) {
    settling.add(then);
  }

  /** Called when a publish is finished, or the previous connection is settled. */
  void finished() {
    if (settling.isEmpty() || !inbound.settled()) return;
    List<Runnable> due = List.copyOf(settling);
    settling.clear();
    due.forEach(Runnable::run);
  }
}
