package dunlin.chaos.mqtt.rows;

import dunlin.chaos.mqtt.Entrance;
import dunlin.chaos.mqtt.check.Packet;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/** Connections with many filters each: they cost a cluster memory and routes. To one of a hundred, messages are sent now and then, which must come. */
final class Holders implements AutoCloseable {
  /*
   * Their sessions end with their connections. A connection that ends is opened again wherever the entrance says, with all its filters.
   *
   * Owner: each connection has a virtual thread; `open` belongs to the thread of the row.
   * Bounds: a topic is seen for each message that was sent to them. AT_A_TIME of them connect and subscribe at the same time; what they do is not in the history of the row.
   * Failure: a connection that cannot be opened or may not subscribe is tried again after AGAIN_MILLIS, until close().
   */
  private static final int AT_A_TIME = 32;
  private static final int AGAIN_MILLIS = 200;
  private static final int LEVEL = 4;
  private static final int FIRST_CODE = 2;
  private static final int ASKED_OF = 100;

  private final int filters;
  private final Semaphore turns = new Semaphore(AT_A_TIME);
  private final AtomicInteger subscribed = new AtomicInteger();
  private final AtomicLong opened = new AtomicLong();
  private final Set<String> seen = ConcurrentHashMap.newKeySet();
  private final List<Holder> all = new ArrayList<>();
  private volatile boolean running = true;

  /** @param filters those of each connection */
  Holders(int filters) {
    this.filters = filters;
  }

  /** Has more of them. Does not wait for them. */
  void open(int connections, Entrance entrance) {
    for (int i = 0; i < connections; i++) {
      var holder = new Holder("holder-%05d".formatted(all.size()), entrance);
      all.add(holder);
      Thread.startVirtualThread(holder::run);
    }
  }

  /** How many have all their filters now. */
  int subscribed() {
    return subscribed.get();
  }

  /** How often a connection was opened and had all its filters. */
  long opened() {
    return opened.get();
  }

  /** Other topics each time, each of which one of a hundred of them has a filter for, which is the last of its filters. */
  List<String> topics(int ask) {
    return IntStream.range(0, all.size()).filter(number -> number % ASKED_OF == 0).mapToObj(number -> "hold/%s/%d/%d".formatted(all.get(number).id, filters - 1, ask)).toList();
  }

  /** The topics of messages that have come. */
  Set<String> seen() {
    return seen;
  }

  /** A filter that is about in the middle of those of the first so many connections. */
  static String middle(int connections) {
    return filter("holder-%05d".formatted(connections / 2), 0);
  }

  private static String filter(String id, int number) {
    return "hold/%s/%d/+".formatted(id, number);
  }

  @Override
  public void close() {
    running = false;
    all.forEach(Holder::close);
  }

  private final class Holder {
    private final String id;
    private final Entrance entrance;
    private volatile Socket socket = new Socket();

    private Holder(String id, Entrance entrance) {
      this.id = id;
      this.entrance = entrance;
    }

    private void run() {
      try {
        while (running) {
          hold();
          Thread.sleep(AGAIN_MILLIS);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    /** One connection, until its end. */
    private void hold() throws InterruptedException {
      var entry = entrance.next();
      if (entry.isEmpty()) return;
      turns.acquire();
      boolean connecting = true;
      try (var connection = new Socket()) {
        socket = connection;
        connection.connect(entry.get().address(), (int) entry.get().connectMax().toMillis());
        var in = new DataInputStream(new BufferedInputStream(connection.getInputStream(), 512));
        connection.getOutputStream().write(Packet.connect(LEVEL, id, true, 0, 0, Optional.empty()));
        if (Packet.read(LEVEL, in).reason() != 0) return;
        connection.getOutputStream().write(Packet.subscribe(LEVEL, 1, IntStream.range(0, filters).mapToObj(number -> filter(id, number)).toList(), 1));
        if (!allGranted(Packet.read(LEVEL, in))) return;
        turns.release();
        connecting = false;
        opened.incrementAndGet();
        subscribed.incrementAndGet();
        try {
          while (running) {
            var packet = Packet.read(LEVEL, in);
            if (packet.type() != Packet.PUBLISH) continue;
            var publish = packet.publish();
            seen.add(publish.topic());
            connection.getOutputStream().write(Packet.answer(Packet.PUBACK, publish.packetId()));
          }
        } finally {
          subscribed.decrementAndGet();
        }
      } catch (IOException e) {
        // It is opened again.
      } finally {
        if (connecting) turns.release();
      }
    }

    private static boolean allGranted(Packet packet) {
      if (packet.type() != Packet.SUBACK) return false;
      byte[] body = packet.body();
      return IntStream.range(FIRST_CODE, body.length).allMatch(at -> (body[at] & 0xFF) < Packet.ERRORS);
    }

    private void close() {
      try {
        socket.close();
      } catch (IOException e) {
        // It is closed anyway.
      }
    }
  }
}
