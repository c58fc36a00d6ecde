package dunlin.chaos.attack;

import dunlin.chaos.attack.Attacker.Manner;
import dunlin.chaos.mqtt.check.Packet;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The context of an {@link Attack.Play}, and its results. */
final class Assault implements AutoCloseable {
  /*
   * Owner: the thread of the row; attackers may be opened and used on other threads.
   * Bounds: the time of the row. After that, close() frees threads that block in a socket.
   */
  static final int LEVEL = 5;

  private final int port;
  private final long endsNanos;
  private final List<Attacker> attackers = new ArrayList<>();
  private final Map<String, AtomicLong> counts = new LinkedHashMap<>();
  private final Map<Integer, Long> refusals = new TreeMap<>();
  private final List<String> figures = new ArrayList<>();
  private final Set<String> problems = new LinkedHashSet<>();

  Assault(int port, long seconds) {
    this.port = port;
    endsNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
  }

  int port() {
    return port;
  }

  boolean over() {
    return System.nanoTime() - endsNanos > 0 || Thread.currentThread().isInterrupted();
  }

  void untilOver() throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(Math.max(0, endsNanos - System.nanoTime()));
  }

  /** Opens a socket, which is closed with the row. */
  Attacker open(Manner manner) {
    var attacker = Attacker.open(port, manner);
    synchronized (attackers) {
      attackers.add(attacker);
    }
    return attacker;
  }

  /** A client with a session that ends with its connection. */
  Attacker client(String id, Manner manner) {
    var attacker = open(manner);
    answered("connected", attacker.connect(id, true, 0));
    return attacker;
  }

  /** Counts an operation by its reason code; -1 for a connection that ended. */
  void answered(String what, int reason) {
    if (reason >= 0 && reason < Packet.ERRORS) {
      count(what, 1);
      return;
    }
    synchronized (refusals) {
      refusals.merge(reason, 1L, Long::sum);
    }
  }

  /** Whether something was refused with a reason code. */
  boolean isRefused(int reason) {
    synchronized (refusals) {
      return refusals.containsKey(reason);
    }
  }

  void count(String what, long more) {
    synchronized (counts) {
      counts.computeIfAbsent(what, _ -> new AtomicLong()).addAndGet(more);
    }
  }

  /** Adds a measured figure. */
  void figure(String text) {
    synchronized (figures) {
      figures.add(text);
    }
  }

  /** Makes the row fail. */
  void problem(String text) {
    synchronized (problems) {
      problems.add(text);
    }
  }

  List<String> problems() {
    synchronized (problems) {
      return List.copyOf(problems);
    }
  }

  /** Subscribes to all of these filters, {@code inOne} in a packet, and waits for each SUBACK; false when the connection has ended. */
  boolean subscribe(Attacker attacker, List<String> filters, int qos, int inOne) throws InterruptedException {
    for (int from = 0; from < filters.size() && !over(); from += inOne) {
      var some = filters.subList(from, Math.min(filters.size(), from + inOne));
      if (!attacker.send(Packet.subscribe(LEVEL, attacker.nextPacketId(), some, qos))) return ended(attacker);
      var answer = attacker.answer(60_000);
      if (answer == null || answer.type() != Packet.SUBACK) return ended(attacker);
      byte[] body = answer.body();
      for (int i = body.length - some.size(); i < body.length; i++) answered("subscribed", body[i] & 0xFF);
    }
    return true;
  }

  private boolean ended(Attacker attacker) {
    answered("", attacker.reason());
    return false;
  }

  static byte[] publish(String topic, int packetId, int qos, boolean retain, int bytes) {
    return Packet.publish(LEVEL, new Packet.Publish(topic, packetId, qos, false, retain, new byte[bytes], "", -1));
  }

  /** Runs the same task on several threads, and waits for all. */
  static void inParallel(int threads, Part part) throws InterruptedException {
    var done = new CountDownLatch(threads);
    for (int i = 0; i < threads; i++) {
      int number = i;
      Thread.startVirtualThread(
          () -> {
            try {
              part.play(number);
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            } finally {
              done.countDown();
            }
          });
    }
    done.await();
  }

  /** The task of one thread. */
  interface Part {
    void play(int number) throws InterruptedException;
  }

  /** The counts of operations and refusals, for the table. */
  String figures() {
    var parts = new ArrayList<String>();
    synchronized (counts) {
      counts.forEach((what, count) -> parts.add("%,d %s".formatted(count.get(), what)));
    }
    synchronized (refusals) {
      refusals.forEach((code, count) -> parts.add(code < 0 ? "%,d closed".formatted(count) : "%,d refused with 0x%02X".formatted(count, code)));
    }
    synchronized (figures) {
      parts.addAll(figures);
    }
    return String.join(", ", parts);
  }

  @Override
  public void close() {
    synchronized (attackers) {
      attackers.forEach(Attacker::close);
    }
  }
}
