package dunlin;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * The clients of the broker whose run {@code bin/dunlin-train} records. The code that they exercise is in the AOT
 * cache, so that it is not interpreted for the first thousand clients after a start.
 */
final class TrainingLoad {
  /*
   * One thread; at most CLIENTS connections, each with at most a BATCH of messages in flight.
   * Failure: ends with an exception when the broker does not answer; the training then continues with what was
   * recorded.
   */
  private static final int CLIENTS = 200;
  private static final int CLIENTS_OF_A_CLUSTER = 24;
  private static final int ROUNDS = 4;
  private static final int EXCHANGES = 12;
  private static final int BATCH = 32;
  private static final int PATIENCE_MILLIS = 10_000;
  private static final long AGAIN_NANOS = 20_000_000;

  private static final int CONNACK = 2;
  private static final int PUBLISH = 3;
  private static final int SUBACK = 9;
  private static final int PINGRESP = 13;

  private final int port;

  private TrainingLoad(int port) {
    this.port = port;
  }

  public static void main(String[] args) {
    new TrainingLoad(Integer.parseInt(args[0])).run();
  }

  private void run() {
    for (int round = 0; round < ROUNDS; round++) exchange(List.of(port), CLIENTS, EXCHANGES);
  }

  /** Clients of the brokers of a cluster, some at each. What a broker refuses while a leadership moves is tried again. */
  static void comeAndGo(List<Integer> ports, BooleanSupplier done) {
    while (!done.getAsBoolean()) {
      try {
        exchange(ports, CLIENTS_OF_A_CLUSTER, 1);
      } catch (UncheckedIOException e) {
        LockSupport.parkNanos(AGAIN_NANOS);
      }
    }
  }

  private static void exchange(List<Integer> ports, int count, int exchanges) {
    List<Client> clients = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) clients.add(new Client(ports.get(i % ports.size()), "train-" + i, i));
      for (int i = 0; i < exchanges; i++) for (Client client : clients) client.exchange();
    } finally {
      for (Client client : clients) client.close();
    }
  }

  /** A client of MQTT 3.1.1 or 5 with a subscription of its own and one in a group; every eighth is durable. */
  private static final class Client implements AutoCloseable {
    private final Socket socket;
    private final DataInputStream in;
    private final int number;
    private final boolean version5;

    Client(int port, String clientId, int number) {
      this.number = number;
      version5 = number % 2 == 1;
      try {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(PATIENCE_MILLIS);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
        boolean durable = number % 8 == 0;
        byte[] none = version5 ? new byte[] {0} : new byte[0];
        send(packet(0x10, text("MQTT"), bytes(version5 ? 5 : 4, durable ? 0 : 2, 0, 60), none, text(clientId)));
        await(CONNACK);
        send(packet(0x82, bytes(0, 1), none, text("train/" + number + "/+/#"), bytes(number % 2), text("$share/g/train/all/#"), bytes(1)));
        await(SUBACK);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Publishes to itself and to the group with QoS 0 and 1, and receives what has arrived so far. */
    void exchange() {
      var out = new ByteArrayOutputStream();
      byte[] none = version5 ? new byte[] {0} : new byte[0];
      for (int i = 1; i <= BATCH; i++) {
        byte[] topic = text(i % 4 == 0 ? "train/all/" + i : "train/" + number + "/a/" + i);
        byte[] packet =
            i % 2 == 0 ? packet(0x30, topic, none, new byte[100]) : packet(0x32, topic, bytes(0, i), none, new byte[100]);
        out.writeBytes(packet);
      }
      out.writeBytes(bytes(0xC0, 0));
      try {
        send(out.toByteArray());
        await(PINGRESP);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Reads packets up to one of this type, and acknowledges messages on the way. */
    private void await(int type) throws IOException {
      for (int first = in.read(); ; first = in.read()) {
        if (first < 0) throw new EOFException("the broker has closed the connection");
        byte[] body = in.readNBytes(length());
        if (first >> 4 == PUBLISH && (first & 6) == 2) {
          int topic = ((body[0] & 0xFF) << 8) | (body[1] & 0xFF);
          send(bytes(0x40, 2, body[2 + topic], body[3 + topic]));
        }
        if (first >> 4 == type) return;
      }
    }

    private int length() throws IOException {
      int length = 0;
      int shift = 0;
      for (int next = 0x80; (next & 0x80) != 0; shift += 7) {
        next = in.readUnsignedByte();
        length |= (next & 0x7F) << shift;
      }
      return length;
    }

    private void send(byte[] packet) throws IOException {
      socket.getOutputStream().write(packet);
    }

    @Override
    public void close() {
      try {
        send(bytes(0xE0, 0));
        socket.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static byte[] packet(int first, byte[]... parts) {
    int length = 0;
    for (byte[] part : parts) length += part.length;
    var out = new ByteArrayOutputStream();
    out.write(first);
    int rest = length;
    for (; rest >= 0x80; rest >>>= 7) out.write((rest & 0x7F) | 0x80);
    out.write(rest);
    for (byte[] part : parts) out.writeBytes(part);
    return out.toByteArray();
  }

  private static byte[] text(String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    var out = new ByteArrayOutputStream();
    out.writeBytes(bytes(utf8.length >> 8, utf8.length));
    out.writeBytes(utf8);
    return out.toByteArray();
  }

  private static byte[] bytes(int... values) {
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < values.length; i++) bytes[i] = (byte) values[i];
    return bytes;
  }
}
