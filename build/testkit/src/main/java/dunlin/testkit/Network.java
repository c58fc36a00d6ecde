package dunlin.testkit;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** The ports of all nodes, and the relays through which they reach each other and are reached by clients. */
final class Network implements AutoCloseable {
  /*
   * Each ordered pair of nodes has two relays, for calls and links and for Raft, so that a pair can be cut; each node has one for clients. A relay is open
   * while both of its ends are there, so a node that is not refuses connections, as the host of a process that has ended does.
   *
   * Owner: any thread, under the lock.
   * Bounds: n(n-1) times 2, and n relays; NODE_CONNECTIONS and CLIENTS connections over each.
   */
  private static final int NODE_CONNECTIONS = 1_000;
  private static final int CLIENTS = 20_000;

  /** The relay of one node to a port of another one. */
  private record Way(int from, int to, Relay relay) {}

  /** The ports at which a node listens itself. */
  private record Ports(int service, int raft, int mqtt) {}

  private final FreePorts free = new FreePorts();
  private final List<Ports> ports = new ArrayList<>();
  private final List<Way> ways = new ArrayList<>();
  private final List<Map<Integer, Relay>> byTarget = new ArrayList<>();
  private final List<Relay> forClients = new ArrayList<>();
  private final ReentrantLock lock = new ReentrantLock();

  @GuardedBy("lock")
  private final boolean[] present;

  Network(int nodes) {
    present = new boolean[nodes];
    for (int i = 0; i < nodes; i++) {
      ports.add(new Ports(free.any(), free.any(), free.any()));
      forClients.add(new Relay(free.any(), ports.get(i).mqtt(), CLIENTS));
    }
    for (int from = 0; from < nodes; from++) {
      var own = new HashMap<Integer, Relay>();
      for (int to = 0; to < nodes; to++) {
        if (from == to) continue;
        for (int target : new int[] {ports.get(to).service(), ports.get(to).raft()}) {
          var relay = new Relay(free.any(), target, NODE_CONNECTIONS);
          ways.add(new Way(from, to, relay));
          own.put(target, relay);
        }
      }
      byTarget.add(own);
    }
  }

  int servicePort(int node) {
    return ports.get(node).service();
  }

  int raftPort(int node) {
    return ports.get(node).raft();
  }

  /** Where the node listens for clients itself. */
  int mqttPort(int node) {
    return ports.get(node).mqtt();
  }

  /** Where clients reach it. */
  int clientPort(int node) {
    return forClients.get(node).port();
  }

  /** Where a node connects to in order to reach another one; it reaches itself without a relay. */
  UnaryOperator<InetSocketAddress> routes(int from) {
    return asked -> {
      var relay = byTarget.get(from).get(asked.getPort());
      return relay == null ? asked : new InetSocketAddress(InetAddress.getLoopbackAddress(), relay.port());
    };
  }

  /** Says whether a node is there for other nodes. When it is not, its connections are reset. */
  void present(int node, boolean isThere) {
    lock.lock();
    try {
      present[node] = isThere;
      for (Way each : ways) {
        if (present[each.from] && present[each.to]) each.relay.open();
        else each.relay.close();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Says whether a node is there for clients. When it is not, their connections are reset. */
  void serves(int node, boolean clients) {
    if (clients) forClients.get(node).open();
    else forClients.get(node).close();
  }

  void cut(int one, int other) {
    select(each -> (each.from == one && each.to == other) || (each.from == other && each.to == one)).forEach(each -> each.relay.cut(true));
  }

  void heal() {
    ways.forEach(each -> each.relay.cut(false));
  }

  void delay(int node, Duration later) {
    select(each -> each.from == node || each.to == node).forEach(each -> each.relay.delay(later));
  }

  private List<Way> select(Predicate<Way> which) {
    return ways.stream().filter(which).toList();
  }

  @Override
  public void close() {
    ways.forEach(each -> each.relay.close());
    forClients.forEach(Relay::close);
    free.close();
  }
}
