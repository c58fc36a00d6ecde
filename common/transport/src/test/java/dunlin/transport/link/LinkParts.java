package dunlin.transport.link;

import static java.nio.charset.StandardCharsets.UTF_8;

import dunlin.transport.link.Link.Handler;
import dunlin.transport.link.LinkFrame.Confirm;
import dunlin.transport.link.LinkFrame.Data;
import dunlin.transport.link.LinkFrame.Goodbye;
import dunlin.transport.link.LinkFrame.Hello;
import dunlin.transport.link.LinkFrame.Refuse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What tests of links put at both of their ends: a recording handler, a recording pipe, and frames. */
final class LinkParts {
  static final Link.Settings SETTINGS = new Link.Settings(4, 100, Duration.ofSeconds(10));
  static final long DIALLER = 11;
  static final long ACCEPTOR = -22;
  static final byte[] OPENING = "node a".getBytes(UTF_8);

  private LinkParts() {}

  /** Records what a link tells its owner. */
  static final class Ear implements Handler {
    final List<String> received = new ArrayList<>();
    final List<String> lost = new ArrayList<>();
    int confirmed;
    int connected;
    Runnable uponReceived = () -> {};
    Runnable uponConfirmed = () -> {};

    @Override
    public void received(byte[] frame) {
      received.add(new String(frame, UTF_8));
      uponReceived.run();
    }

    @Override
    public void connected() {
      connected++;
    }

    @Override
    public void confirmed() {
      confirmed++;
      uponConfirmed.run();
    }

    @Override
    public void lost(String reason) {
      lost.add(reason);
    }
  }

  /** A pipe that records the sent frames. */
  static final class Sent implements Pipe {
    final List<LinkFrame> frames = new ArrayList<>();
    boolean closed;

    @Override
    public void send(byte[] frame) {
      frames.add(decoded(frame));
    }

    @Override
    public void close() {
      closed = true;
    }

    List<String> texts() {
      return frames.stream().map(LinkParts::text).toList();
    }
  }

  static LinkFrame decoded(byte[] bytes) {
    try {
      return LinkFrame.decode(bytes, SETTINGS.bytesMax());
    } catch (MalformedLinkFrameException e) {
      throw new AssertionError(e);
    }
  }

  static String text(LinkFrame frame) {
    return switch (frame) {
      case Hello(var identity, var other, var received, var opening) -> "HELLO " + identity + " " + other + " " + received + " " + new String(opening, UTF_8);
      case Data(var number, var confirms, var payload) -> "DATA " + number + " " + confirms + " " + new String(payload, UTF_8);
      case Confirm(var upTo) -> "CONFIRM " + upTo;
      case Goodbye() -> "GOODBYE";
      case Refuse(var lost, var sentence) -> "REFUSE " + (lost ? "link: " : "pipe: ") + sentence;
    };
  }

  static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  static byte[] hello(long identity, long other, long received) {
    return new Hello(identity, other, received, new byte[0]).encode();
  }

  static byte[] dialled(long identity, long other, long received) {
    return new Hello(identity, other, received, OPENING).encode();
  }

  static byte[] data(long number, long confirms, String payload) {
    return new Data(number, confirms, bytes(payload)).encode();
  }

  static byte[] confirm(long upTo) {
    return new Confirm(upTo).encode();
  }
}
