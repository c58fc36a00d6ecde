package dunlin.broker.session;

import dunlin.broker.loop.FrontendSettings;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a durable session adds to its client's publishes: QoS 2 exchanges that the session tier records, so that they go on over
 * another connection; MQTT 5, sections 4.3.3 and 4.4.
 */
public final class RecordedPublishes {
  /*
   * An exchange is recorded in the log entry that appends its message to all inboxes. From then on, whatever happens, the client
   * that sends it again is answered PUBREC and nothing else is done. So what must outlive a crash is done before or in that entry:
   *   1. A message to be retained is set as the retained message first, and goes no further when that fails. QoS 2 messages behind
   *      it wait until then, to keep their order.
   *   2. It is recorded and appended.
   *   3. It goes to connected sessions without expiry, which a crash ends anyway (see RecordedDelivery in the dist tier).
   *   4. PUBREC. One with an error ends the exchange on the client's side, so the record is deleted before: the client may use the
   *      identifier for another message, which must not be taken for a repetition.
   * A connection that takes over is not read from until what the old one was sent has come to its end: a PUBLISH that comes
   * again is answered at once when it is recorded, and what comes behind it must not overtake it.
   *
   * Owner: the connection's event loop.
   * Bounds: what waits is within Receive Maximum and holds credit of its lane; releases in progress are operations of the session.
   * Failure: what waits behind a message of an MQTT 3 client that was refused is not recorded. A release that fails ends the connection; the client goes on where the session tier's record says. A displaced
   *   connection that does not come to an end is waited for FOLLOW_MILLIS beyond the longest wait of a message.
   */
  private static final int FOLLOW_MILLIS = 30_000;

  private final LiveSession session;
  private final InboundPublishes inbound;

  /** Exchanges that wait for their message to be retained, or behind such a one. */
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>(2);

  /** Packet identifiers whose release is not answered yet. */
  private final Set<Integer> releasing = new HashSet<>(2);

  private final List<Runnable> settling = new ArrayList<>(1);

  /** Runs while the displaced connection is waited for. */
  private @Nullable ScheduledFuture<?> following;

  private static final class Waiting {
    final Publication message;
    final PendingPublish publish;

    /** What came of retaining it; null while that is not known. */
    @Nullable ReasonCode retained;

    Waiting(Publication message, PendingPublish publish) {
      this.message = message;
      this.publish = publish;
    }
  }

  RecordedPublishes(LiveSession session, InboundPublishes inbound) {
    this.session = session;
    this.inbound = inbound;
  }

  // ------------------------------------------------------------------------------------------------------------- QoS 2 exchanges

  /** Hands on the message of an exchange that begins. */
  void publish(Publication message, PendingPublish publish) {
    if (!message.retain() && waiting.isEmpty()) {
      append(message, publish);
      return;
    }
    Waiting next = new Waiting(message, publish);
    waiting.add(next);
    if (message.retain()) {
      session.tiers().retain().set(message, reason -> session.loop().post(() -> retained(next, reason)));
    } else {
      next.retained = ReasonCode.SUCCESS;
    }
  }

  private void retained(Waiting message, ReasonCode reason) {
    message.retained = reason;
    for (Waiting head = waiting.peek(); head != null && head.retained != null; head = waiting.peek()) {
      waiting.remove();
      ReasonCode refusal = head.retained.isError() ? head.retained : inbound.failure();
      if (refusal != null) head.publish.answer(refusal);
      else append(head.message, head.publish);
    }
  }

  private void append(Publication message, PendingPublish publish) {
    session.loop().lane().append(message, inbound, publish);
    publish.answer(ReasonCode.SUCCESS);
  }

  /** Whether a publish is to be acknowledged with an error although its exchange is recorded, or may be. */
  boolean mayHaveRecord(PendingPublish publish) {
    if (publish.qos() != QoS.EXACTLY_ONCE || session.ended() || !session.version().hasProperties()) return false;
    ReasonCode reason = publish.reason();
    return switch (reason) {
      case SERVER_BUSY, SERVER_UNAVAILABLE, SESSION_TAKEN_OVER -> false;
      default -> reason.isError();
    };
  }

  /** Has the record of a publish deleted, and only then its error said. */
  void forget(PendingPublish publish) {
    released(
        publish.packetId(),
        deleted -> {
          if (!deleted) publish.abandon();
          inbound.finished(publish);
        });
  }

  /** PUBREL: the identifier is free again once that is as durable as the session is [MQTT-4.3.3-11]. */
  void release(int packetId) {
    for (Waiting each : waiting) {
      if (each.publish.packetId() != packetId) continue;
      session.connection().violated(ReasonCode.PROTOCOL_ERROR, null, "PUBREL of packet " + packetId + " before its PUBREC");
      return;
    }
    // A second PUBREL may be answered when the client uses the identifier again already: it frees nothing.
    boolean first = releasing.add(packetId);
    released(
        packetId,
        deleted -> {
          if (!deleted) return;
          if (first) {
            releasing.remove(packetId);
            inbound.unmarkReceived(packetId);
          }
          if (!session.ended()) session.connection().writer().writePubcomp(packetId, ReasonCode.SUCCESS);
        });
  }

  private void released(int packetId, Released then) {
    session.operationBegins();
    session.tiers().inbox().released(session.ref(), packetId).whenComplete(
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

  /** Whether the client is not read from yet, for the connection before this. */
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

  /** How long what came over a connection that has ended is waited for at most. */
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

  /** A publish has come to its end, or the connection before this one. */
  void finished() {
    if (settling.isEmpty() || !inbound.settled()) return;
    List<Runnable> due = List.copyOf(settling);
    settling.clear();
    due.forEach(Runnable::run);
  }
}
