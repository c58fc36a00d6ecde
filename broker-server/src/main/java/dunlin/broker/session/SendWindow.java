package dunlin.broker.session;

import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The messages of QoS 1 and 2 sent to one client and not yet acknowledged; MQTT 5, section 4.9. */
final class SendWindow {
  /*
   * Owner: the connection's event loop.
   * The packet identifier of a message follows from its sequence: 1 + (sequence - 1) mod 65,535. A durable session uses
   * the sequences of its inbox, so a message keeps its identifier when it is sent again after a crash, although the
   * identifier is not stored.
   * Bounds: the client's Receive Maximum in messages, and 65,535 sequences from the first unacknowledged one on, so
   * that no identifier is in use twice. The ring takes no memory while it is unused, grows by doubling, and is as large
   * as the span of sequences, sixteen times that or 256 places at most. A client that acknowledges all but a few has a wide span with little in it: then there is a map in place of the ring, until nothing is in
   * flight. Full: hasRoom answers false, and the message waits in the session's queue
   * or its inbox.
   */
  private static final int IDENTIFIERS = 65_535;
  private static final Outgoing[] IDLE = {};

  /** A span of more sequences, of which fewer than one in so many are in flight, is in the map. */
  private static final int RING_SPAN = 256;

  private static final int FEW = 16;

  private final int receiveMaximum;
  private @Nullable Outgoing[] ring = IDLE;

  /** By their sequences; null while the ring has them. */
  private @Nullable SortedMap<Long, Outgoing> sparse;

  private int size;

  /** The first sequence in flight; only valid while a message is in flight. */
  private long first;

  /** One more than the last sequence in flight. */
  private long end;

  SendWindow(int receiveMaximum) {
    this.receiveMaximum = receiveMaximum;
  }

  static int packetId(long sequence) {
    return 1 + (int) ((sequence - 1) % IDENTIFIERS);
  }

  int size() {
    return size;
  }

  boolean hasRoom(long sequence) {
    return size == 0 || (size < receiveMaximum && sequence - first < IDENTIFIERS);
  }

  /** Adds a message that was just sent; its sequence must be higher than all before. */
  void add(Outgoing message) {
    assert hasRoom(message.sequence) : "the window is full";
    if (size == 0) {
      first = message.sequence;
    } else {
      assert message.sequence >= end : "sequences must ascend";
    }
    long span = message.sequence + 1 - first;
    if (sparse == null && span > ring.length) {
      if (isSparse(span)) sparse = toMap();
      else resize((int) span);
    }
    if (sparse != null) sparse.put(message.sequence, message);
    else ring[slot(message.sequence)] = message;
    end = message.sequence + 1;
    size++;
  }

  /** The message in flight with this packet identifier, or null. */
  @Nullable Outgoing find(int packetId) {
    if (size == 0 || packetId == 0) return null;
    long sequence = first + Math.floorMod(packetId - packetId(first), IDENTIFIERS);
    return sequence < end ? at(sequence) : null;
  }

  private @Nullable Outgoing at(long sequence) {
    return sparse != null ? sparse.get(sequence) : ring[slot(sequence)];
  }

  void remove(Outgoing message) {
    assert at(message.sequence) == message : "not in flight: " + message.sequence;
    if (sparse != null) sparse.remove(message.sequence);
    else ring[slot(message.sequence)] = null;
    if (--size == 0) {
      sparse = null;
      if (ring.length > 64) ring = IDLE;
      return;
    }
    if (message.sequence == first) {
      if (sparse != null) first = sparse.firstKey();
      else while (ring[slot(first)] == null) first++;
    }
    if (sparse != null || ring.length <= RING_SPAN) return;
    long span = end - first;
    if (isSparse(span)) sparse = toMap();
    else if (span * FEW < ring.length) resize((int) span);
  }

  private boolean isSparse(long span) {
    return span > RING_SPAN && span > FEW * (size + 1L);
  }

  /** The message that was sent first of those in flight; null without any. */
  @Nullable Outgoing first() {
    return size == 0 ? null : at(first);
  }

  /** The places of the ring, of 4 or 8 bytes each. */
  int places() {
    return ring.length;
  }

  /** Visits the messages in flight in the order in which they were sent. */
  void forEach(Consumer<Outgoing> visitor) {
    if (size == 0) return;
    if (sparse != null) {
      sparse.values().forEach(visitor);
      return;
    }
    for (long sequence = first; sequence < end; sequence++) {
      Outgoing message = ring[slot(sequence)];
      if (message != null) visitor.accept(message);
    }
  }

  private int slot(long sequence) {
    return (int) sequence & (ring.length - 1);
  }

  private SortedMap<Long, Outgoing> toMap() {
    var map = new TreeMap<Long, Outgoing>();
    forEach(message -> map.put(message.sequence, message));
    ring = IDLE;
    return map;
  }

  private void resize(int span) {
    @Nullable Outgoing[] other = new @Nullable Outgoing[Math.max(8, Integer.highestOneBit(span - 1) << 1)];
    for (@Nullable Outgoing message : ring) {
      if (message != null) other[(int) message.sequence & (other.length - 1)] = message;
    }
    ring = other;
  }
}
