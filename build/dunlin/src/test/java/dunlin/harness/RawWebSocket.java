package dunlin.harness;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A WebSocket client on a plain socket that sends any frames, right or wrong. */
public final class RawWebSocket implements AutoCloseable {
  public static final int FINAL = 0x80;
  public static final int CONTINUATION = 0;
  public static final int TEXT = 1;
  public static final int BINARY = 2;
  public static final int CLOSE = 8;
  public static final int PING = 9;
  public static final int PONG = 10;
  private static final byte[] MASK = {0x12, (byte) 0xA4, 0x7F, 0x01};

  private final Socket socket;
  private final DataInputStream in;

  /** A received frame. */
  public record Frame(int first, byte[] content) {
    public int code() {
      return (content[0] & 0xFF) << 8 | (content[1] & 0xFF);
    }
  }

  public RawWebSocket(int port) {
    try {
      socket = new Socket(InetAddress.getLoopbackAddress(), port);
      socket.setSoTimeout(60_000);
      socket.setTcpNoDelay(true);
      in = new DataInputStream(socket.getInputStream());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Opens a WebSocket for MQTT and completes its handshake. */
  public static RawWebSocket open(int port) {
    var client = new RawWebSocket(port);
    client.sendText(request("/mqtt", "mqtt"));
    assertThat(client.readHead()).startsWith("HTTP/1.1 101 ").contains("\r\nSec-WebSocket-Protocol: mqtt\r\n");
    return client;
  }

  public static String request(String path, String protocols) {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        + (protocols.isEmpty() ? "" : "Sec-WebSocket-Protocol: " + protocols + "\r\n")
        + "\r\n";
  }

  public void sendText(String text) {
    send(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  public void send(byte[] bytes) {
    try {
      socket.getOutputStream().write(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public void sendFrame(int first, byte[] content) {
    send(frame(first, content));
  }

  /** A masked frame with the correct length. */
  public static byte[] frame(int first, byte[] content) {
    int n = content.length;
    byte[] masked = new byte[n];
    for (int i = 0; i < n; i++) masked[i] = (byte) (content[i] ^ MASK[i % 4]);
    byte[] head;
    if (n < 126) head = RawClient.bytes(first, 0x80 | n);
    else if (n < 0x1_0000) head = RawClient.bytes(first, 0x80 | 126, RawClient.u16(n));
    else head = RawClient.bytes(first, 0x80 | 127, RawClient.u32(0), RawClient.u32(n));
    return RawClient.bytes(head, MASK, masked);
  }

  /** The head of an HTTP response, up to the empty line. */
  public String readHead() {
    var head = new StringBuilder();
    try {
      while (head.length() < 4 || !head.substring(head.length() - 4).equals("\r\n\r\n")) head.append((char) in.readUnsignedByte());
    } catch (IOException e) {
      throw new AssertionError("no response, but " + head, e);
    }
    return head.toString();
  }

  public Frame read() {
    try {
      int first = in.readUnsignedByte();
      int length = in.readUnsignedByte();
      if (length == 126) length = in.readUnsignedShort();
      else if (length == 127) length = Math.toIntExact(in.readLong());
      return new Frame(first, in.readNBytes(length));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The next frame must be binary, and its content must begin with this byte. */
  public byte[] expectPacket(int first) {
    Frame frame = read();
    assertThat(frame.first()).isEqualTo(FINAL | BINARY);
    assertThat(frame.content()[0] & 0xF0).isEqualTo(first & 0xF0);
    return frame.content();
  }

  /** The server must send a close frame with this code, and close. */
  public void expectClose(int code) {
    Frame frame = read();
    assertThat(frame.first()).isEqualTo(FINAL | CLOSE);
    assertThat(frame.code()).isEqualTo(code);
    expectEnd();
  }

  public void expectEnd() {
    assertThat(next()).as("more bytes").isNull();
  }

  private @Nullable Integer next() {
    try {
      return in.readUnsignedByte();
    } catch (EOFException | SocketException _) {
      return null; // a reset, since bytes of ours were unread
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
