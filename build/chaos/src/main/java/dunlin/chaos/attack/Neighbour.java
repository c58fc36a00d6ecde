package dunlin.chaos.attack;

import dunlin.chaos.mqtt.check.Packet;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Two clients that have no part in the attack: one sends the other a small message of QoS 1, a hundred times a second. */
final class Neighbour implements AutoCloseable {
  /*
   * Each message carries the time at which it was due, not at which it was sent: while the broker does not accept one,
   * later ones wait as well and count with their full delay.
   *
   * Owner: a sending and a receiving thread; the lock guards the delays.
   * Bounds: a delay for each message.
   * Failure: the end of a connection is noted, and the row fails.
   */
  private static final int LEVEL = 5;
  private static final long PERIOD_NANOS = 10_000_000;
  private static final int BYTES = 64;
  private static final int WINDOW = 60_000;

  private final Socket publisher;
  private final Socket subscriber;
  private final List<Long> delays = new ArrayList<>();
  private final String topic;
  private volatile boolean closing;
  private volatile boolean lost;
  private long sent;

  Neighbour(int port, String name) throws IOException {
    topic = "neighbour/" + name;
    subscriber = connect(port, name + "-in");
    var in = new DataInputStream(new BufferedInputStream(subscriber.getInputStream()));
    try {
      subscriber.getOutputStream().write(Packet.subscribe(LEVEL, 1, List.of(topic), 1));
      if (Packet.read(LEVEL, in).reason() != 1) throw new IOException("the neighbour's SUBSCRIBE was refused");
      publisher = connect(port, name + "-out");
    } catch (IOException refused) {
      subscriber.close();
      throw refused;
    }
    Thread.ofPlatform().daemon().name("neighbour-in").start(() -> receive(in));
    Thread.ofPlatform().daemon().name("neighbour-acks").start(this::acknowledged);
    Thread.ofPlatform().daemon().name("neighbour-out").start(this::send);
  }

  private static Socket connect(int port, String clientId) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port);
    try {
      socket.setTcpNoDelay(true);
      socket.getOutputStream().write(Packet.connect(LEVEL, clientId, true, 0, 1000, Optional.empty()));
      var connack = Packet.read(LEVEL, new DataInputStream(socket.getInputStream()));
      if (connack.reason() != 0) throw new IOException("the neighbour was refused with " + Integer.toHexString(connack.reason()));
      return socket;
    } catch (IOException refused) {
      socket.close();
      throw refused;
    }
  }

  private void send() {
    try {
      for (long due = System.nanoTime(); !closing; due += PERIOD_NANOS) {
        for (long left; (left = due - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
        byte[] payload = ByteBuffer.allocate(BYTES).putLong(due).array();
        int packetId = (int) (sent % WINDOW) + 1;
        synchronized (this) {
          sent++;
        }
        publisher.getOutputStream().write(Packet.publish(LEVEL, new Packet.Publish(topic, packetId, 1, false, false, payload, "", -1)));
      }
    } catch (IOException e) {
      lost = true;
    }
  }

  /** Reads the acknowledgements, so that the broker can continue writing. */
  private void acknowledged() {
    try {
      var in = new DataInputStream(new BufferedInputStream(publisher.getInputStream()));
      while (true) if (Packet.read(LEVEL, in).type() == Packet.DISCONNECT) throw new IOException("disconnected");
    } catch (IOException e) {
      lost = true;
    }
  }

  private void receive(DataInputStream in) {
    try {
      while (true) {
        var packet = Packet.read(LEVEL, in);
        if (packet.type() != Packet.PUBLISH) throw new IOException("disconnected");
        var publish = packet.publish();
        long delay = System.nanoTime() - ByteBuffer.wrap(publish.payload()).getLong();
        synchronized (this) {
          delays.add(delay);
        }
        subscriber.getOutputStream().write(Packet.answer(Packet.PUBACK, publish.packetId()));
      }
    } catch (IOException e) {
      lost = true;
    }
  }

  /** Whether one of its connections has ended. */
  boolean lost() {
    return lost;
  }

  /** A mark from which {@link #delays} counts. */
  synchronized int mark() {
    return delays.size();
  }

  /** Delays since a mark, in order; messages in flight count as arriving now. */
  synchronized List<Duration> delays(int mark) {
    var all = new ArrayList<>(delays.subList(mark, delays.size()));
    for (long missing = sent - delays.size(); missing > 0; missing--) all.add(missing * PERIOD_NANOS);
    all.sort(null);
    return all.stream().map(Duration::ofNanos).toList();
  }

  static Duration percentile(List<Duration> sorted, int percent) {
    if (sorted.isEmpty()) throw new IllegalArgumentException("nothing was measured");
    return sorted.get(Math.min(sorted.size() - 1, sorted.size() * percent / 100));
  }

  @Override
  public void close() {
    closing = true;
    for (var socket : List.of(publisher, subscriber)) {
      try {
        socket.close();
      } catch (IOException e) {
        // The connection is closed in any case.
      }
    }
  }
}
