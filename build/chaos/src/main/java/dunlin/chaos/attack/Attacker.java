package dunlin.chaos.attack;

import dunlin.chaos.mqtt.check.Packet;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** One connection of an attack, with MQTT 5: it sends any bytes, and reads and acknowledges as its manner says. */
final class Attacker implements AutoCloseable {
  /*
   * Owner: the thread that opened it writes; its reader is a virtual thread that ends with the socket.
   * Bounds: 1,024 unread answers; further ones are dropped.
   * Failure: when the broker has closed the socket, writes answer false, and waiting for an answer ends at once.
   */
  private static final int LEVEL = 5;
  private static final int ANSWERS_MAX = 1024;
  private static final int CONNECT_MILLIS = 10_000;

  /** How it treats incoming packets. */
  enum Manner {
    /** Reads and acknowledges. */
    POLITE,
    /** Reads and acknowledges no message. */
    SILENT,
    /** Does not read. */
    DEAF
  }

  private final Socket socket = new Socket();
  private final DataInputStream in;
  private volatile Manner manner;
  private final BlockingQueue<Packet> answers = new ArrayBlockingQueue<>(ANSWERS_MAX);
  private final AtomicLong messages = new AtomicLong();
  private final AtomicLong acknowledged = new AtomicLong();
  private volatile boolean ended;
  private volatile int reason = -1;
  private int packetIds;

  private Attacker(@Nullable String address, int port, Manner manner) throws IOException {
    this.manner = manner;
    socket.setTcpNoDelay(true);
    if (address != null) socket.bind(new InetSocketAddress(address, 0));
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), CONNECT_MILLIS);
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
  }

  /** Opens a socket without sending a packet. */
  static Attacker open(int port, Manner manner) {
    return openFrom(null, port, manner);
  }

  /** Opens a socket from an address of this machine. */
  static Attacker openFrom(@Nullable String address, int port, Manner manner) {
    try {
      return new Attacker(address, port, manner);
    } catch (IOException e) {
      throw new UncheckedIOException("no connection to the broker", e);
    }
  }

  /** Sends CONNECT; returns the reason code of CONNACK, or -1 when the connection has ended without one. */
  int connect(String clientId, boolean clean, long expirySeconds) {
    return connect(Packet.connect(LEVEL, clientId, clean, expirySeconds, 65_535, Optional.empty()));
  }

  /** The same with a session that ends with the connection, and credentials. */
  int connect(String clientId, String user, String password) {
    return connect(Packet.connect(LEVEL, clientId, user, password));
  }

  private int connect(byte[] packet) {
    if (!send(packet)) return -1;
    try {
      socket.setSoTimeout(CONNECT_MILLIS);
      var first = Packet.read(LEVEL, in);
      socket.setSoTimeout(0);
      if (first.type() != Packet.CONNACK) return -1;
      if (first.reason() == 0 && manner != Manner.DEAF) Thread.startVirtualThread(this::read);
      return first.reason();
    } catch (IOException e) {
      return -1;
    }
  }

  /** Changes the manner, from the next packet on. */
  void become(Manner next) {
    manner = next;
  }

  private void read() {
    try {
      while (manner != Manner.DEAF) {
        var packet = Packet.read(LEVEL, in);
        if (packet.type() != Packet.PUBLISH) {
          if (packet.type() == Packet.DISCONNECT) reason = packet.reason();
          if (packet.type() == Packet.PUBACK) acknowledged.incrementAndGet();
          var _ = answers.offer(packet);
          continue;
        }
        messages.incrementAndGet();
        if (manner != Manner.POLITE) continue;
        var publish = packet.publish();
        if (publish.qos() > 0) send(Packet.answer(publish.qos() == 1 ? Packet.PUBACK : Packet.PUBREC, publish.packetId()));
      }
    } catch (IOException e) {
      close(); // the connection has ended
    }
  }

  /** Blocks while the broker does not read; false when the connection has ended. */
  boolean send(byte[] packet) {
    return send(packet, packet.length);
  }

  /** Sends the beginning of a packet. */
  boolean send(byte[] packet, int length) {
    try {
      synchronized (this) {
        socket.getOutputStream().write(packet, 0, length);
      }
      return true;
    } catch (IOException e) {
      close();
      return false;
    }
  }

  int nextPacketId() {
    packetIds = packetIds % 65_535 + 1;
    return packetIds;
  }

  /** The next packet other than PUBLISH; null when none comes in time, or the connection has ended. */
  @Nullable Packet answer(long millis) throws InterruptedException {
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (System.nanoTime() < until) {
      var next = answers.poll(50, TimeUnit.MILLISECONDS);
      if (next != null) return next;
      if (ended) return answers.poll();
    }
    return null;
  }

  /** The number of its messages of QoS 1 that were acknowledged, whatever the code. */
  long acknowledged() {
    return acknowledged.get();
  }

  /** The number of received messages. */
  long messages() {
    return messages.get();
  }

  boolean ended() {
    return ended;
  }

  /** The reason code of the broker's DISCONNECT, or -1. */
  int reason() {
    return reason;
  }

  @Override
  public void close() {
    ended = true;
    try {
      socket.close();
    } catch (IOException e) {
      // The socket is closed in any case.
    }
  }
}
