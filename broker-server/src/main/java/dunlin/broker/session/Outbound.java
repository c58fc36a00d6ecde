package dunlin.broker.session;

import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.meter.LoopCounts;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import dunlin.transport.trace.Trace.Step;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Sends messages to one client: QoS 0 directly to the socket, QoS 1 and 2 through a queue and the window of messages in
 * flight. The sender's side of QoS 1 and 2; MQTT 5, sections 4.3 and 4.9.
 */
public final class Outbound {
  /*
   * Owner: the connection's event loop.
   * Bounds: QoS 0 up to the bytes that may wait for the socket; beyond that, it is dropped and counted. QoS 1 and 2 of
   * a session without expiry: a queue bounded in messages and bytes; beyond that, the newest message is dropped and
   * counted, or refused if it came through a group. Of a durable session: only what InboxReader takes; the rest waits
   * in the inbox. Retained messages are read when nothing waits and are sent at once, so none is dropped. The client's
   * Receive Maximum and a bound in bytes, exceeded by one message at most, limit what is in flight. All of it takes
   * memory of the node's budget (MessageMemory); when that is used up, the queue counts as full.
   * Failure: when the connection ends, messages of a durable session are still in its inbox, messages of a group go to
   * other members unless their QoS 2 exchange has begun [MQTT-4.8.2-4, -5], and the rest ends with the session.
   */
  private final LiveSession session;
  private final ClientConnection connection;
  private final LoopCounts counts;
  private final SendWindow window;
  private final int queueMessagesMax;
  private final int queueBytesMax;
  private final int inFlightBytesMax;
  private final MessageMemory memory;

  /** Messages that were sent, for operators; it may wrap around. */
  private int sent;

  private @Nullable ArrayDeque<Outgoing> queue;
  private long queueBytes;
  private long inFlightBytes;

  /** The bytes that waiting messages and messages in flight count for this session. */
  private long heldBytes;

  /** Created for the first message that several subscriptions matched. */
  private @Nullable MergedCopy merged;

  /** The next sequence of a session without an inbox. */
  private long nextSequence = 1;

  Outbound(LiveSession session, ClientConnection connection, int receiveMaximum, FrontendSettings settings) {
    this.session = session;
    this.connection = connection;
    this.counts = session.loop().counts();
    this.window = new SendWindow(receiveMaximum);
    this.queueMessagesMax = settings.sessions().queueMessagesMax();
    this.queueBytesMax = settings.sessions().queueBytesMax();
    this.inFlightBytesMax = session.loop().budget().bounds().inFlight();
    this.memory = session.home().messageMemory();
  }

  /** The merged subscriptions of the current message. */
  MergedCopy merged() {
    MergedCopy present = merged;
    if (present == null) merged = present = new MergedCopy();
    return present;
  }

  int inFlight() {
    return window.size();
  }

  int queued() {
    return queue == null ? 0 : queue.size();
  }

  long queuedBytes() {
    return queueBytes;
  }

  /** How many messages were sent; only differences mean something. */
  int sent() {
    return sent;
  }

  /** When the oldest message was accepted that is in flight or waits, milliseconds since 1970; empty without any. */
  OptionalLong oldestAcceptedAt() {
    Outgoing flying = window.first();
    Outgoing waiting = queue == null ? null : queue.peek();
    return Stream.of(flying, waiting).filter(Objects::nonNull).mapToLong(each -> each.message.acceptedAtMillis()).min();
  }

  /** Visits the messages in flight, in the order in which they were sent. */
  void visitInFlight(Consumer<Outgoing> visitor) {
    window.forEach(visitor);
  }

  /** The first waiting messages behind so many, in their order. */
  List<Outgoing> queuedBehind(long after, int max) {
    return queue == null ? List.of() : queue.stream().skip(after).limit(max).toList();
  }

  /**
   * Whether a durable session's message with this sequence, which was taken, waits or is in flight. If not, the client is
   * done with it.
   */
  boolean holds(long sequence) {
    Outgoing first = queue == null ? null : queue.peek();
    if (first != null && sequence >= first.sequence) return true;
    Outgoing sent = window.find(SendWindow.packetId(sequence));
    return sent != null && sent.sequence == sequence;
  }

  /** The bytes that waiting messages and messages in flight count for this session. */
  long heldBytes() {
    return heldBytes;
  }

  /** Whether too much is in flight to read ahead. */
  boolean inFlightIsFull() {
    return inFlightBytes >= inFlightBytesMax;
  }

  /** Whether a message of a durable session may be taken from its inbox. */
  boolean mayTakeAhead(int size) {
    return !inFlightIsFull() && memory.takes(heldBytes, size);
  }

  void sendQoS0(Publication message, boolean retain, int[] identifiers) {
    counts.copies().received(message, session);
    if (message.isRepetition()) {
      counts.copies().dropped(DropReason.REPEATED, message, session);
    } else if (!connection.takesQoS0(message.body().length)) {
      counts.copies().dropped(DropReason.NOT_WRITABLE, message, session);
    } else {
      write(message, QoS.AT_MOST_ONCE, false, retain, 0, identifiers);
    }
  }

  /** Sends a QoS 0 message that was held back until there was room: it is not dropped even if there is no room now. */
  void sendKept(Publication message, boolean retain, int[] identifiers) {
    counts.copies().received(message, session);
    write(message, QoS.AT_MOST_ONCE, false, retain, 0, identifiers);
  }

  /** Whether the socket accepts a message of QoS 0, or the queue and the node's memory one of QoS 1 or 2. */
  boolean hasRoom(QoS qos, int size) {
    if (qos == QoS.AT_MOST_ONCE) return connection.takesQoS0(size);
    return size <= room() && memory.takes(heldBytes, size);
  }

  /** Whether there is room for a message of QoS 1 or 2 of this size, for an operator: nothing is counted. */
  boolean wouldTake(int size) {
    return size <= room() && memory.wouldTake(heldBytes, size);
  }

  /**
   * The size of the largest QoS 1 or 2 message that the queue accepts: unlimited if it is empty; -1 for none. The
   * node's memory is not considered.
   */
  int room() {
    if (queued() == 0) return Integer.MAX_VALUE;
    return queued() < queueMessagesMax ? (int) Math.max(-1, queueBytesMax - queueBytes) : -1;
  }

  /**
   * Whether a message of QoS 1 or 2 of a session without an inbox would be sent at once. If only memory is missing, the
   * session is notified when there is some.
   */
  boolean sendsAtOnce(int size) {
    if (queued() > 0 || !mayFly(nextSequence) || !connection.writable(size)) return false;
    if (memory.takes(heldBytes, size)) return true;
    memory.await(session);
    return false;
  }

  /** Whether one more message may be in flight. */
  private boolean mayFly(long sequence) {
    return window.hasRoom(sequence) && inFlightBytes < inFlightBytesMax;
  }

  /** Sends or queues a message of QoS 1 or 2 of a session without an inbox. */
  void offer(Outgoing message) {
    counts.copies().received(message.message, session);
    if (!hasRoom(message.qos, message.size())) {
      counts.copies().dropped(DropReason.QUEUE_FULL, message.message, session);
      return;
    }
    take(message);
  }

  /** Sends or queues a message with a given sequence; its source has checked the bounds. */
  void take(Outgoing message) {
    counts.copies().waiting(1);
    memory.take(message);
    heldBytes += MessageMemory.bytesOf(message);
    if (queued() == 0 && mayFly(sequenceOf(message)) && connection.writable(message.size())) {
      send(message);
    } else {
      if (queue == null) queue = new ArrayDeque<>(8);
      queue.add(message);
      queueBytes += message.size();
      counts.copies().note(Step.QUEUED, "", message.message, session);
    }
  }

  private long sequenceOf(Outgoing message) {
    return message.sequence != 0 ? message.sequence : nextSequence;
  }

  /** Sends as many waiting messages as the client's window and the socket accept. */
  void sendQueued() {
    if (queue == null) return;
    for (Outgoing head = queue.peek(); head != null; head = queue.peek()) {
      if (!mayFly(sequenceOf(head)) || !connection.writable(head.size())) return;
      queue.remove();
      queueBytes -= head.size();
      send(head);
    }
    queue = null;
  }

  private void send(Outgoing message) {
    if (message.released) {
      message.sequence = sequenceOf(message);
      flies(message);
      connection.writer().writePubrel(SendWindow.packetId(message.sequence), ReasonCode.SUCCESS);
      return;
    }
    long sequence = sequenceOf(message);
    // Expiry does not end an exchange that has begun [MQTT-4.3.3-7].
    boolean begun = message.duplicate && message.qos == QoS.EXACTLY_ONCE;
    if (!begun && message.message.expired(session.loop().nowMillis())) {
      gone(sequence, message, DropReason.EXPIRED);
      return;
    }
    if (session.withholds(message.message, message.qos, message.retain)) {
      withhold(sequence, message, begun);
      return;
    }
    int packetId = SendWindow.packetId(sequence);
    if (!connection.writer().writePublish(
        message.message, message.qos, message.duplicate, message.retain, packetId, message.identifiers)) {
      gone(sequence, message, DropReason.PACKET_TOO_LARGE);
      return;
    }
    sent++;
    counts.copies().note(Step.SENT, "", message.message, session);
    if (!message.duplicate && !message.retain) delivered(message.message);
    message.sequence = sequence;
    if (sequence == nextSequence) nextSequence++;
    flies(message);
  }

  /**
   * Keeps a message from the client, whom access rules do not allow it. An exchange that has begun is ended by PUBREL: the
   * client may have the message's identifier, and would take the next message with it for a repetition.
   */
  private void withhold(long sequence, Outgoing message, boolean begun) {
    if (begun) {
      message.withheld = true;
      message.released = true;
      send(message);
    } else if (message.group != null) {
      let(message);
      counts.copies().waiting(-1);
      counts.copies().returned(message.message, session);
      session.home().fanout().groups().dispatch(message.message, message.group, null, null);
    } else {
      gone(sequence, message, DropReason.NOT_AUTHORIZED);
    }
  }

  private void flies(Outgoing message) {
    window.add(message);
    inFlightBytes += message.size();
  }

  /** Releases a message that the session no longer holds. */
  private void let(Outgoing message) {
    heldBytes -= MessageMemory.bytesOf(message);
    memory.free(message);
  }

  private void delivered(Publication message) {
    counts.delivering().add(session.loop().nowMillis() - message.acceptedAtMillis());
  }

  /** Drops a message that will never be sent: the inbox may forget it. */
  private void gone(long sequence, Outgoing message, DropReason reason) {
    let(message);
    counts.copies().waiting(-1);
    counts.copies().dropped(reason, message.message, session);
    if (message.sequence != 0) session.acknowledged(sequence);
  }

  private void write(
      Publication message, QoS qos, boolean duplicate, boolean retain, int packetId, int[] identifiers) {
    if (message.expired(session.loop().nowMillis())) {
      counts.copies().dropped(DropReason.EXPIRED, message, session);
    } else if (session.withholds(message, qos, retain)) {
      counts.copies().dropped(DropReason.NOT_AUTHORIZED, message, session);
    } else if (connection.writer().writePublish(message, qos, duplicate, retain, packetId, identifiers)) {
      sent++;
      counts.copies().delivered(message, session);
      if (!retain) delivered(message);
    } else {
      counts.copies().dropped(DropReason.PACKET_TOO_LARGE, message, session);
    }
  }

  public void puback(int packetId) {
    Outgoing message = window.find(packetId);
    if (message != null && message.qos == QoS.AT_LEAST_ONCE) finish(message);
  }

  public void pubrec(int packetId, ReasonCode reason) {
    Outgoing message = window.find(packetId);
    if (message == null || message.qos != QoS.EXACTLY_ONCE) {
      // An error code ends the exchange, whether it is known or not: only a PUBREC below 0x80 is answered
      // [MQTT-4.3.3-4].
      if (!reason.isError()) connection.writer().writePubrel(packetId, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND);
    } else if (reason.isError()) {
      finish(message); // the client has refused the message [MQTT-4.3.3-4]
    } else if (message.released || !session.durable()) {
      message.released = true;
      connection.writer().writePubrel(packetId, ReasonCode.SUCCESS);
    } else {
      recordReceived(message, packetId);
    }
  }

  /**
   * PUBREL may be sent only when a crash cannot cause the PUBLISH to be sent again [MQTT-4.3.3-6], and in the order of
   * PUBREC [MQTT-4.6.0-4]. An immediate answer calls back in the same round, when earlier answers may still wait among
   * the loop's arrivals; so it is posted behind them rather than run.
   */
  private void recordReceived(Outgoing message, int packetId) {
    message.recording = true;
    session.operationBegins();
    session.tiers().inbox().received(session.ref(), message.sequence).whenComplete(
        (_, failure) ->
            session.loop().post(
                () -> {
                  session.operationEnds();
                  if (session.ended()) return;
                  if (failure != null) {
                    connection.storeFailed("receipt of packet " + packetId, failure);
                    return;
                  }
                  message.released = true;
                  connection.writer().writePubrel(packetId, ReasonCode.SUCCESS);
                }));
  }

  public void pubcomp(int packetId) {
    Outgoing message = window.find(packetId);
    if (message != null && message.released) finish(message);
  }

  private void finish(Outgoing message) {
    window.remove(message);
    inFlightBytes -= message.size();
    let(message);
    counts.copies().waiting(-1);
    if (message.withheld) counts.copies().dropped(DropReason.NOT_AUTHORIZED, message.message, session);
    else counts.copies().delivered(message.message, session);
    if (session.durable()) session.acknowledged(message.sequence);
    sendQueued();
    session.updateLoad(); // perhaps nothing is written for it in this round, and a group must see that there is room
    session.drained();
  }

  /** Ends the output with the connection. */
  void end() {
    List<Outgoing> left = new ArrayList<>();
    window.forEach(left::add);
    int sent = left.size();
    if (queue != null) left.addAll(queue);
    queue = null;
    for (int i = 0; i < left.size(); i++) {
      Outgoing message = left.get(i);
      let(message);
      counts.copies().waiting(-1);
      boolean begun = i < sent && message.qos == QoS.EXACTLY_ONCE;
      if (session.durable()) {
        counts.copies().returned(message.message, session);
      } else if (message.group != null && !begun) {
        counts.copies().returned(message.message, session);
        session.home().fanout().groups().dispatch(message.message, message.group, null, null);
      } else {
        counts.copies().dropped(DropReason.SESSION_ENDED, message.message, session);
      }
    }
  }
}
