package dunlin.broker.session;

import dunlin.broker.codec.InboundPublish;
import dunlin.broker.codec.Limit;
import dunlin.broker.codec.Packet;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.LaneWindow;
import dunlin.broker.loop.Loop;
import dunlin.broker.loop.ServersTopics;
import dunlin.broker.meter.Denials;
import dunlin.inbox.OpenExchange;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import dunlin.transport.TierAnswers;
import dunlin.transport.trace.Trace.Step;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Handles the publishes of one client: hands them to the lane and the retained messages, and acknowledges them in order
 * [MQTT-4.6.0-2, -3] once all destinations have answered. The receiver's side of QoS 1 and 2; MQTT 5, section 4.3.
 */
public final class InboundPublishes implements Feedback {
  /*
   * Owner: the connection's event loop.
   * Bounds: at most Receive Maximum unacknowledged publishes. An MQTT 5 client that sends more violates the protocol
   * (0x93); an MQTT 3 client, which has no such limit, is not read from until there is room. Exchanges that it does not
   * release are one bit each: to stop reading would keep its PUBREL from being read. What the session tier records of
   * them has a bound in bytes there, which refuses a publish like any other limit.
   * Failure: an MQTT 5 client gets an error code, which ends that exchange; later ones continue. MQTT 3 has no error
   * code, so the connection is closed without an acknowledgement and the client sends the message again. It also
   * repeats all later messages, so from the moment that the error is known, no further QoS 1 and 2 messages are handed
   * on. The same holds for MQTT 5 when the error comes while the node has no lease: the connection ends without an answer.
   * Access rules: a publish that they deny is dropped and counted. An MQTT 5 client gets 0x87 in PUBACK or PUBREC. An
   * MQTT 3 client is acknowledged: it would send the message again for ever.
   */
  /**
   * The part of its lane's credit, one in LANE_SHARE, that one publisher's messages may hold while they wait for
   * groups; beyond that, it is not read from.
   */
  private static final int LANE_SHARE = 16;

  /** Of a QoS 2 publish that is not answered, before its client is not read from. A client has no reason to repeat one over the same connection. */
  private static final int REPEATS_MAX = 16;

  private final LiveSession session;
  private final int receiveMaximum;
  private final boolean checkPayloadFormat;

  /** In MQTT 3, any error ends the connection, and the client would send the message to all destinations again. */
  private final Terms terms;

  private final ArrayDeque<PendingPublish> pending = new ArrayDeque<>(4);

  /** Packet identifiers of QoS 2 publishes that were received and not released. */
  private final BitSet received = new BitSet();

  /** Whether all messages go through the line, as in a cluster; else only those of recorded exchanges. */
  private final boolean inLine;

  /** The way to the lane; null until there is a message to be retained. */
  private @Nullable RetainLine line;

  /** The part for a durable session; null until it is needed. */
  private @Nullable RecordedPublishes recorded;

  private int receivedCount;
  private int pendingQos1;

  /** Publishes that came, for operators; it may wrap around. */
  private int published;

  /** The tenant's share of the lane's credit, from the first publish that needs some until the connection ends. */
  private LaneWindow.@Nullable Share share;

  /** Number and bytes of unanswered publishes, which hold credit of the lane. */
  private int unanswered;

  private long unansweredBytes;

  /** Copies that wait for groups: number with QoS 0, number with QoS 1 and 2, and the bytes of the latter. */
  private int waitingForGroups;

  private int acknowledgedForGroups;
  private long bytesForGroups;

  /**
   * Why the connection is closed, or will be when it is the turn of the failed publish to be acknowledged. In MQTT 5 only when the connection is forsaken.
   */
  private @Nullable ReasonCode failure;

  /**
   * @param receivedPacketIds of QoS 2 exchanges that were recorded before this connection
   * @param openExchanges those of them whose messages are delivered again when the client repeats them
   */
  InboundPublishes(LiveSession session, int receiveMaximum, int[] receivedPacketIds, List<OpenExchange> openExchanges) {
    this.session = session;
    this.receiveMaximum = receiveMaximum;
    this.checkPayloadFormat = session.settings().features().payloadFormatCheck();
    this.inLine = !session.tiers().alone();
    this.terms = session.version().hasProperties() ? Terms.ANSWERED : Terms.disconnecting(session.fence());
    for (int packetId : receivedPacketIds) markReceived(packetId);
    if (!openExchanges.isEmpty()) recorded().open(openExchanges);
  }

  public void publish(InboundPublish packet) {
    Loop loop = session.loop();
    QoS qos = packet.qos();
    if (failure != null && qos != QoS.AT_MOST_ONCE) return;
    Terms.Origin before = null;
    if (qos == QoS.EXACTLY_ONCE && received.get(packet.packetId())) {
      if (recorded != null && mayRepeat(packet)) before = recorded.reopen(packet.packetId());
      if (before == null) {
        repeated(packet.packetId());
        return;
      }
    }
    if (before == null && qos != QoS.AT_MOST_ONCE && pendingQos1 + receivedCount >= receiveMaximum && session.version().hasProperties()) {
      noteRefused(packet, ReasonCode.RECEIVE_MAXIMUM_EXCEEDED);
      String explanation = Limit.RECEIVE_MAXIMUM.exceededBy("too many unacknowledged publishes", receiveMaximum);
      session.connection().violated(ReasonCode.RECEIVE_MAXIMUM_EXCEEDED, Limit.RECEIVE_MAXIMUM, explanation);
      return;
    }
    if (qos != QoS.AT_MOST_ONCE && session.version().hasProperties() && usedOtherwise(packet.packetId(), qos)) {
      refuse(packet, ReasonCode.PACKET_IDENTIFIER_IN_USE, Subscriptions.inUse(packet.packetId()));
      return;
    }
    if (checkPayloadFormat && packet.violatesPayloadFormat()) {
      refuse(packet, ReasonCode.PAYLOAD_FORMAT_INVALID, "the payload is declared as UTF-8 text but is not");
      return;
    }
    boolean inExchange = session.durable() && qos == QoS.EXACTLY_ONCE;
    Publication message =
        packet.toPublication(
            session.publisher(),
            loop.nowMillis(),
            inExchange ? new Publication.Exchange(session.birth(), session.epoch(), packet.packetId()) : null);
    if (before == null && isDenied(message)) {
      deny(packet, message);
      return;
    }
    if (ServersTopics.has(message)) {
      refuse(packet, ReasonCode.NOT_AUTHORIZED, "only the server publishes to $SYS");
      return;
    }
    published++;
    loop.counts().publishes().received(message, session);
    boolean lined = (inLine || inExchange) && (line != null || message.retain());
    if (qos == QoS.AT_MOST_ONCE) {
      if (lined) {
        line().passUnacknowledged(message, RetainLine.NOTHING);
      } else {
        if (message.retain()) retainUnacknowledged(message);
        loop.handOn(message, session, this, null);
        loop.counts().publishes().delivered();
      }
    } else {
      Publication followed = loop.counts().publishes().follows(message, session) ? message : null;
      PendingPublish publish =
          new PendingPublish(session, before == null ? terms : terms.from(before), packet.packetId(), qos, message.body().length, followed);
      if (qos == QoS.EXACTLY_ONCE) {
        markReceived(packet.packetId());
      } else {
        pendingQos1++;
      }
      pending.add(publish);
      loop.counts().publishes().waiting(1);
      share().take(publish.size());
      unanswered++;
      unansweredBytes += publish.size();
      if (before != null) {
        line().passRetained(message, publish);
      } else if (lined) {
        line().pass(message, publish);
      } else {
        if (message.retain()) {
          publish.expect();
          loop.retain(message, session, publish::answer);
        }
        loop.handOn(message, session, this, publish);
        publish.answer(ReasonCode.SUCCESS);
      }
      holdWhenFull();
    }
    boolean most = loop.window().isMost(unanswered, unansweredBytes) || (share != null && share.isMost());
    if (most || loop.window().exhausted()) session.connection().holdForCredit();
  }

  /** Answers a publish with an error, in its turn, instead of handing it on. With QoS 0, the connection is closed. */
  private void refuse(InboundPublish packet, ReasonCode reason, String explanation) {
    noteRefused(packet, reason);
    QoS qos = packet.qos();
    if (qos == QoS.AT_MOST_ONCE) {
      session.connection().violated(reason, null, explanation);
      return;
    }
    session.connection().note(reason, null, explanation);
    answerInTurn(packet, reason, explanation);
  }

  private void noteRefused(InboundPublish packet, ReasonCode reason) {
    session.loop().counts().publishes().note(Step.REFUSED, reason.label(), forNotes(packet), session);
  }

  /** The message of a publish that is not handed on, if a trace runs; else null, since it costs a copy. */
  private @Nullable Publication forNotes(InboundPublish packet) {
    Loop loop = session.loop();
    return loop.counts().publishes().notes() ? packet.toPublication(session.publisher(), loop.nowMillis(), null) : null;
  }

  /** Answers a publish that is not handed on when those before it are answered. */
  private void answerInTurn(InboundPublish packet, ReasonCode reason, String explanation) {
    QoS qos = packet.qos();
    PendingPublish answered = new PendingPublish(session, terms, packet.packetId(), qos, 0, null);
    if (reason.isError()) answered.refuse(reason, explanation);
    else answered.finish();
    if (qos == QoS.EXACTLY_ONCE) markReceived(packet.packetId());
    else pendingQos1++;
    pending.add(answered);
    holdWhenFull();
    acknowledgeFinished();
  }

  private void holdWhenFull() {
    if (pending.size() >= receiveMaximum) session.connection().hold(Hold.PENDING);
  }

  /** Asked of the message and not of its packet, since its topic name is an array that is compared as a whole. */
  private boolean isDenied(Publication message) {
    SessionAccess access = session.access();
    return access != null && !access.mayPublish(message);
  }

  /** Whether the client may still publish what an open exchange of it has published. */
  private boolean mayRepeat(InboundPublish packet) {
    SessionAccess access = session.access();
    return access == null || access.mayPublish(Denials.Kind.PUBLISH, packet.topic(), packet.qos(), packet.retain());
  }

  private void deny(InboundPublish packet, Publication message) {
    session.loop().counts().publishes().received(message, session);
    session.loop().counts().publishes().dropped(DropReason.NOT_AUTHORIZED, message, session);
    if (packet.qos() == QoS.AT_MOST_ONCE) return;
    ReasonCode reason = session.version().hasProperties() ? ReasonCode.NOT_AUTHORIZED : ReasonCode.SUCCESS;
    answerInTurn(packet, reason, "the client may not publish this");
  }

  /**
   * Whether a packet identifier is used by an exchange of another kind than this publish. A QoS 1 publish with the
   * identifier of an unacknowledged one is treated as a new message, as it must be after the acknowledgement
   * [MQTT-4.3.2-5].
   */
  private boolean usedOtherwise(int packetId, QoS qos) {
    if (session.subscribesAs(packetId)) return true;
    return qos == QoS.AT_LEAST_ONCE ? received.get(packetId) : usesAtQos1(packetId);
  }

  /** Whether a publish in progress has this packet identifier. */
  boolean uses(int packetId) {
    return received.get(packetId) || usesAtQos1(packetId);
  }

  private boolean usesAtQos1(int packetId) {
    if (pendingQos1 == 0) return false;
    for (PendingPublish publish : pending) {
      if (publish.packetId() == packetId && publish.qos() == QoS.AT_LEAST_ONCE) return true;
    }
    return false;
  }

  /** Retains a QoS 0 message. It is not acknowledged, but holds credit while the store works on it. */
  private void retainUnacknowledged(Publication message) {
    Loop loop = session.loop();
    int size = message.body().length;
    loop.window().take(size);
    loop.retain(
        message,
        session,
        reason ->
            loop.run(
                () -> {
                  loop.window().give(1, size);
                  if (reason.isError()) loop.meters().storeFailed();
                }));
  }

  @Override
  public void waits(QoS qos, int size) {
    if (qos == QoS.AT_MOST_ONCE) {
      waitingForGroups++;
    } else {
      acknowledgedForGroups++;
      bytesForGroups += size;
    }
    if (groupsHoldIt()) session.connection().hold(Hold.GROUP);
  }

  @Override
  public void waitsNoLonger(QoS qos, int size) {
    if (qos == QoS.AT_MOST_ONCE) {
      waitingForGroups--;
    } else {
      acknowledgedForGroups--;
      bytesForGroups -= size;
    }
    if (!groupsHoldIt()) session.connection().resume(Hold.GROUP);
  }

  /**
   * Whether the client is not read from because of groups. That is so if any QoS 0 message waits, or if waiting QoS 1
   * and 2 messages hold more than a small part of the lane's credit. With fewer, the client is read from: it may be a
   * member of the group whose acknowledgements are needed. The bound keeps a group that only one client publishes to
   * from stopping all publishers of the lane.
   */
  private boolean groupsHoldIt() {
    FrontendSettings settings = session.settings();
    return waitingForGroups > 0
        || acknowledgedForGroups >= settings.lanes().messagesMax() / LANE_SHARE
        || bytesForGroups >= settings.lanes().bytesMax() / LANE_SHARE;
  }

  /** Called when a publish has all its answers. */
  void answered(PendingPublish publish) {
    Loop loop = session.loop();
    unanswered--;
    unansweredBytes -= publish.size();
    share().give(publish.size());
    boolean unmatched = publish.reason() == ReasonCode.SUCCESS && !publish.matched();
    loop.counts().publishAnswered(unmatched ? ReasonCode.NO_MATCHING_SUBSCRIBERS : publish.reason(), publish.followed(), session);
    if (publish.reason().isError()) failed(publish);
    boolean inExchange = publish.qos() == QoS.EXACTLY_ONCE && session.durable();
    if (inExchange && session.ended() && !publish.reason().isError()) delivered(List.of(publish.packetId()));
    if (inExchange && recorded().mayHaveRecord(publish)) recorded().forget(publish);
    else finished(publish);
  }

  /** A publish has an error that ends the connection, unless the client can be told and go on. */
  private void failed(PendingPublish publish) {
    boolean forsaken = publish.isForsaken();
    if (failure == null && (forsaken || !session.version().hasProperties())) failure = publish.reason();
    if (!forsaken) return;
    publish.abandon();
    session.connection().sessionTierLost();
  }

  /** Called when the connection has ended: whose messages were delivered must not be delivered again when the client repeats them. */
  void end() {
    if (share != null) share.leave();
    if (!session.durable() || receivedCount == 0) return;
    List<Integer> packetIds = new ArrayList<>();
    received.stream().filter(this::isDelivered).forEach(packetIds::add);
    delivered(packetIds);
  }

  private boolean isDelivered(int packetId) {
    if (recorded != null && recorded.isOpen(packetId)) return false;
    for (PendingPublish publish : pending) {
      if (publish.packetId() == packetId && publish.qos() == QoS.EXACTLY_ONCE) return publish.finished() && !publish.reason().isError();
    }
    return true;
  }

  /** Tells the session tier; in a broker that runs alone, a crash ends those that have not got it. */
  private void delivered(List<Integer> packetIds) {
    if (!packetIds.isEmpty() && !session.tiers().alone()) recorded().delivered(packetIds);
  }

  /**
   * Why no further messages may be handed on, or null: they would overtake a message that the client sends again over
   * its next connection.
   */
  @Nullable ReasonCode failure() {
    if (failure != null) return failure;
    return session.isForsaken() ? ReasonCode.SERVER_UNAVAILABLE : null;
  }

  /** Called when the outcome of a publish may be acknowledged. */
  void finished(PendingPublish publish) {
    publish.finish();
    acknowledgeFinished();
    settles();
  }

  private void settles() {
    if (recorded != null) recorded.finished();
  }

  private LaneWindow.Share share() {
    LaneWindow.Share present = share;
    if (present == null) share = present = session.loop().window().join(session.publisher().tenant());
    return present;
  }

  private RetainLine line() {
    RetainLine present = line;
    if (present == null) line = present = new RetainLine(session.loop(), session, this, this::failure, this::settles);
    return present;
  }

  /** Whether a QoS 2 publish waits for its turn to be passed on. */
  boolean waitsInLine(int packetId) {
    return line != null && line.holds(each -> each instanceof PendingPublish publish && publish.qos() == QoS.EXACTLY_ONCE && publish.packetId() == packetId);
  }

  private RecordedPublishes recorded() {
    RecordedPublishes present = recorded;
    if (present == null) recorded = present = new RecordedPublishes(session, this);
    return present;
  }

  /** Number of publishes with QoS 1 and 2 for which no acknowledgement was sent. */
  int unanswered() {
    return pending.size();
  }

  /** Number of packet identifiers of QoS 2 publishes that the client has not released. */
  int unreleased() {
    return receivedCount;
  }

  /** How many publishes came that were handed on; only differences mean something. */
  int published() {
    return published;
  }

  /** When the first of those was received for which no acknowledgement was sent. */
  OptionalLong oldestAcceptedAt() {
    PendingPublish first = pending.peek();
    return first == null ? OptionalLong.empty() : OptionalLong.of(first.acceptedAtMillis());
  }

  /** Visits the publishes for which no acknowledgement was sent, in their order. */
  void visitUnanswered(Consumer<PendingPublish> visitor) {
    pending.forEach(visitor);
  }

  /** Packet identifiers of QoS 2 publishes that the client has not released, in their order. */
  IntStream unreleasedIds() {
    return received.stream();
  }

  /** Whether all publishes over this connection and the previous one are passed on, and answered by all destinations. */
  boolean settled() {
    return pending.isEmpty() && (line == null || line.isEmpty()) && (recorded == null || !recorded.follows());
  }

  /** Runs a task on this loop as soon as it is {@link #settled}. */
  public void whenSettled(Runnable then) {
    if (settled()) then.run();
    else recorded().whenSettled(then);
  }

  /**
   * Notes that the session was taken over from another connection, whose publishes must be processed before those of
   * this one.
   *
   * @return a task to run on this loop once all publishes over the other connection are settled
   */
  public Runnable follow() {
    return recorded().follow();
  }

  private void acknowledgeFinished() {
    for (PendingPublish head = pending.peek(); head != null && head.finished(); head = pending.peek()) {
      pending.remove();
      if (head.qos() == QoS.AT_LEAST_ONCE) pendingQos1--;
      else if (head.abandoned() || head.reason().isError()) unmarkReceived(head.packetId()); // or end() would say that it is delivered
      if (!session.ended() && !head.abandoned()) acknowledge(head);
    }
    if (pending.size() <= receiveMaximum / 2) session.connection().resume(Hold.PENDING);
  }

  private void acknowledge(PendingPublish publish) {
    ReasonCode reason = publish.reason();
    if (reason == ReasonCode.SESSION_TAKEN_OVER) {
      session.connection().takenOver();
    } else if (reason.isError()) {
      acknowledgeError(publish);
    } else {
      session.loop().counts().acknowledging().add(session.loop().nowMillis() - publish.acceptedAtMillis());
      if (!publish.matched()) reason = ReasonCode.NO_MATCHING_SUBSCRIBERS;
      if (publish.qos() == QoS.AT_LEAST_ONCE) session.connection().writer().writePuback(publish.packetId(), reason);
      else for (int i = 0; i <= publish.repeats(); i++) session.connection().writer().writePubrec(publish.packetId(), reason);
    }
  }

  private void acknowledgeError(PendingPublish publish) {
    int packetId = publish.packetId();
    ReasonCode reason = sayable(publish.reason());
    String refusal = publish.refusal();
    String explanation = refusal != null ? refusal : explanation(publish);
    if (!session.version().hasProperties()) {
      session.connection().fail(reason, "publish " + packetId + ": " + explanation);
    } else if (publish.qos() == QoS.AT_LEAST_ONCE) {
      session.connection().writer().writePacket(new Packet.Puback(packetId, reason, explanation, List.of()));
    } else {
      session.connection().writer().writePacket(new Packet.Pubrec(packetId, reason, explanation, List.of()));
    }
  }

  /** Maps a tier's reason code to one that PUBACK and PUBREC allow [MQTT-3.4.2-1, MQTT-3.5.2-1]. */
  private static ReasonCode sayable(ReasonCode reason) {
    return switch (reason) {
      case SERVER_BUSY, SERVER_UNAVAILABLE -> ReasonCode.IMPLEMENTATION_SPECIFIC_ERROR;
      default -> TierAnswers.forPublisher(reason);
    };
  }

  private String explanation(PendingPublish publish) {
    ReasonCode answer = publish.reason();
    if (answer == TierAnswers.NO_MEMBER) return "no member of a shared subscription takes it";
    if (answer == TierAnswers.RETAINED_FULL) return "there are too many retained messages";
    return switch (answer) {
      case QUOTA_EXCEEDED -> "the inbox of a subscriber is full" + orExchanges(publish);
      case SERVER_BUSY, SERVER_UNAVAILABLE -> "the server is overloaded or temporarily unavailable";
      default -> "it could not be stored";
    };
  }

  /** The session tier does not say which limit it was, and it bounds what it records of exchanges. */
  private String orExchanges(PendingPublish publish) {
    if (publish.qos() != QoS.EXACTLY_ONCE || !session.durable()) return "";
    return ", or the memory for QoS 2 exchanges (%s), of which %d are open".formatted(Limit.SESSION_MEMORY.setting(), receivedCount);
  }

  /** Handles a repeated PUBLISH: PUBREC again, but never a second delivery [MQTT-4.3.3-10]. */
  private void repeated(int packetId) {
    for (PendingPublish publish : pending) {
      if (publish.packetId() == packetId && publish.qos() == QoS.EXACTLY_ONCE) {
        publish.repeat(); // answered together with the first one, whose PUBREC is not sent yet
        if (publish.repeats() >= REPEATS_MAX) session.connection().hold(Hold.PENDING);
        return;
      }
    }
    session.connection().writer().writePubrec(packetId, ReasonCode.SUCCESS);
  }

  /** Handles PUBREL: the identifier is free again once the release is as durable as the session [MQTT-4.3.3-11]. */
  public void pubrel(int packetId) {
    if (!received.get(packetId)) {
      session.connection().writer().writePubcomp(packetId, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND);
      return;
    }
    if (!session.durable()) {
      unmarkReceived(packetId);
      session.connection().writer().writePubcomp(packetId, ReasonCode.SUCCESS);
      return;
    }
    recorded().release(packetId);
  }

  private void markReceived(int packetId) {
    if (!received.get(packetId)) receivedCount++;
    received.set(packetId);
  }

  void unmarkReceived(int packetId) {
    if (received.get(packetId)) receivedCount--;
    received.clear(packetId);
  }
}
