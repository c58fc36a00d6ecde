package dunlin.broker.session;

import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.meter.LoopCounts;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What goes out to one client: QoS 0 straight to the socket, QoS 1 and 2 through a queue and the window of what is in flight.
 * The sender's half of QoS 1 and 2; MQTT 5, sections 4.3 and 4.9.
 */
public final class Outbound {
  /*
   * Owner: the connection's event loop.
   * Bounds: QoS 0 up to the bytes that may wait for the socket, beyond which it is dropped and counted. QoS 1 and 2 of a
   *   session without expiry: a queue bounded in messages and bytes, beyond which the newest is dropped and counted, or, in a
   *   group, refused. Of a durable session: only what InboxReader takes; the rest waits in the inbox. Retained messages
   *   come when nothing waits and are sent at once; so none is dropped. In flight is what the client's Receive Maximum and a bound in bytes
   *   allow, passed by one message at most. All of it holds memory of the node's budget (MessageMemory), beyond which it is as if the queue were full.
   * Failure: when the connection ends, messages of a durable session are still in its inbox, messages from a group go to
   *   other members unless their QoS 2 exchange has begun [MQTT-4.8.2-4, -5], the rest ends with the session.
   */
  private final LiveSession session;
  private final ClientConnection connection;
  private final LoopCounts counts;
  private final SendWindow window;
  private final int queueMessagesMax;
  private final int queueBytesMax;
  private final int inFlightBytesMax;
  private final MessageMemory memory;

  private @Nullable ArrayDeque<Outgoing> queue;
  private long queueBytes;
  private long inFlightBytes;

  /** What counts for this session of all that waits or is in flight. */
  private long heldBytes;

  /** Made for the first message that several subscriptions matched. */
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

  /** Where the subscriptions are put together that the message at hand matched. */
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

  /** Bytes that count for this session of all that waits or is in flight. */
  long heldBytes() {
    return heldBytes;
  }

  /** Whether so much is in flight that nothing should be read ahead. */
  boolean inFlightIsFull() {
    return inFlightBytes >= inFlightBytesMax;
  }

  /** Whether a message of a durable session may be taken out of its inbox. */
  boolean mayTakeAhead(int size) {
    return !inFlightIsFull() && memory.takes(heldBytes, size);
  }

  void sendQoS0(Publication message, boolean retain, int[] identifiers) {
    counts.copies().received();
    if (!connection.takesQoS0(message.body().length)) {
      counts.copies().dropped(DropReason.NOT_WRITABLE);
    } else {
      write(message, QoS.AT_MOST_ONCE, false, retain, 0, identifiers);
    }
  }

  /** Sends a message of QoS 0 that is held back until there is room: it is not dropped, also when the room is gone. */
  void sendKept(Publication message, boolean retain, int[] identifiers) {
    counts.copies().received();
    write(message, QoS.AT_MOST_ONCE, false, retain, 0, identifiers);
  }

  /** Whether the socket takes a message of QoS 0, or the queue and the node's memory one of QoS 1 or 2. */
  boolean hasRoom(QoS qos, int size) {
    if (qos == QoS.AT_MOST_ONCE) return connection.takesQoS0(size);
    return size <= room() && memory.takes(heldBytes, size);
  }

  /** Bytes of the largest message of QoS 1 or 2 that the queue takes: any when it is empty; -1 for none. Of the node's memory it knows nothing. */
  int room() {
    if (queued() == 0) return Integer.MAX_VALUE;
    return queued() < queueMessagesMax ? (int) Math.max(-1, queueBytesMax - queueBytes) : -1;
  }

  /**
   * Whether a message of QoS 1 or 2 of a session without an inbox would be sent at once; if not for memory, the session is
   * notified when there is some.
   */
  boolean sendsAtOnce(int size) {
    if (queued() > 0 || !mayFly(nextSequence) || !connection.writable(size)) return false;
    if (memory.takes(heldBytes, size)) return true;
    memory.await(session);
    return false;
  }

  /** Whether a message may be in flight, too. */
  private boolean mayFly(long sequence) {
    return window.hasRoom(sequence) && inFlightBytes < inFlightBytesMax;
  }

  /** Sends or queues a message of QoS 1 or 2 of a session without an inbox. */
  void offer(Outgoing message) {
    counts.copies().received();
    if (!hasRoom(message.qos, message.size())) {
      counts.copies().dropped(DropReason.QUEUE_FULL);
      return;
    }
    take(message);
  }

  /** Sends or queues a message whose place is given, by what its source knows of the bounds. */
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
    }
  }

  private long sequenceOf(Outgoing message) {
    return message.sequence != 0 ? message.sequence : nextSequence;
  }

  /** Sends of what waits as much as the client's window and the socket take. */
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
    int packetId = SendWindow.packetId(sequence);
    if (!connection.writer().writePublish(
        message.message, message.qos, message.duplicate, message.retain, packetId, message.identifiers)) {
      gone(sequence, message, DropReason.PACKET_TOO_LARGE);
      return;
    }
    if (!message.duplicate && !message.retain) delivered(message.message);
    message.sequence = sequence;
    if (sequence == nextSequence) nextSequence++;
    flies(message);
  }

  private void flies(Outgoing message) {
    window.add(message);
    inFlightBytes += message.size();
  }

  /** The session holds it no longer. */
  private void let(Outgoing message) {
    heldBytes -= MessageMemory.bytesOf(message);
    memory.free(message);
  }

  private void delivered(Publication message) {
    counts.delivering().add(session.loop().nowMillis() - message.acceptedAtMillis());
  }

  /** Will never be sent: an inbox may forget it. */
  private void gone(long sequence, Outgoing message, DropReason reason) {
    let(message);
    counts.copies().waiting(-1);
    counts.copies().dropped(reason);
    if (message.sequence != 0) session.acknowledged(sequence);
  }

  private void write(
      Publication message, QoS qos, boolean duplicate, boolean retain, int packetId, int[] identifiers) {
    if (message.expired(session.loop().nowMillis())) {
      counts.copies().dropped(DropReason.EXPIRED);
    } else if (connection.writer().writePublish(message, qos, duplicate, retain, packetId, identifiers)) {
      counts.copies().delivered();
      if (!retain) delivered(message);
    } else {
      counts.copies().dropped(DropReason.PACKET_TOO_LARGE);
    }
  }

  public void puback(int packetId) {
    Outgoing message = window.find(packetId);
    if (message != null && message.qos == QoS.AT_LEAST_ONCE) finish(message);
  }

  public void pubrec(int packetId, ReasonCode reason) {
    Outgoing message = window.find(packetId);
    if (message == null || message.qos != QoS.EXACTLY_ONCE) {
      // An error code ends the exchange, known or not: only a PUBREC below 0x80 is answered [MQTT-4.3.3-4].
      if (!reason.isError()) connection.writer().writePubrel(packetId, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND);
    } else if (reason.isError()) {
      finish(message); // the client wants no more of it [MQTT-4.3.3-4]
    } else if (message.released || !session.durable()) {
      message.released = true;
      connection.writer().writePubrel(packetId, ReasonCode.SUCCESS);
    } else {
      recordReceived(message, packetId);
    }
  }

  /**
   * PUBREL may leave only when a crash cannot bring the PUBLISH back [MQTT-4.3.3-6], and in the order of PUBREC [MQTT-4.6.0-4].
   * An answer that is there already calls back in this very round, when earlier ones still wait among the loop's arrivals; so
   * it is posted behind them and not run.
   */
  private void recordReceived(Outgoing message, int packetId) {
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
    counts.copies().delivered();
    if (session.durable()) session.acknowledged(message.sequence);
    sendQueued();
    session.updateLoad(); // nothing may be written for it in this round, and a group must see that there is room
    session.drained();
  }

  /** The connection has ended. */
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
        counts.copies().returned();
      } else if (message.group != null && !begun) {
        counts.copies().returned();
        session.home().fanout().groups().dispatch(message.message, message.group, null, null);
      } else {
        counts.copies().dropped(DropReason.SESSION_ENDED);
      }
    }
  }
}
