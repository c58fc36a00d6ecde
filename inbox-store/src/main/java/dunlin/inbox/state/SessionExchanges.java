package dunlin.inbox.state;

import dunlin.inbox.OpenExchange;
import dunlin.inbox.rows.PacketIds;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The QoS 2 exchanges that a session's client has begun and not released. Most sessions have none, and no such object. */
final class SessionExchanges {
  /*
   * Owner: the applying thread. Any thread may read memory().
   * Bounds: one for each of 65,535 packet identifiers. The leader keeps the memory below a maximum.
   */
  final PacketIds packetIds = new PacketIds();

  /** Those of them whose messages connected sessions may not have; null for none. */
  private @Nullable TreeMap<Integer, OpenExchange> open;

  /** Written by the applying thread only. */
  private volatile int memory;

  /** Estimated memory: of the packet identifiers, and of what is known of those that are open. */
  int memory() {
    return memory;
  }

  void add(int packetId) {
    int before = packetIds.memory();
    packetIds.add(packetId);
    takes(packetIds.memory() - before);
  }

  void remove(int packetId) {
    int before = packetIds.memory();
    packetIds.remove(packetId);
    takes(packetIds.memory() - before);
    close(packetId);
  }

  List<OpenExchange> open() {
    return open == null ? List.of() : List.copyOf(open.values());
  }

  @Nullable OpenExchange open(int packetId) {
    return open == null ? null : open.get(packetId);
  }

  void open(OpenExchange exchange) {
    if (open == null) open = new TreeMap<>();
    var before = open.put(exchange.packetId(), exchange);
    takes(RangeState.memoryOf(exchange) - (before == null ? 0 : RangeState.memoryOf(before)));
  }

  void close(int packetId) {
    if (open == null) return;
    var closed = open.remove(packetId);
    if (closed != null) takes(-RangeState.memoryOf(closed));
    if (open.isEmpty()) open = null;
  }

  private void takes(int bytes) {
    int now = memory + bytes;
    memory = now;
  }
}
