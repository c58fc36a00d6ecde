package dunlin.transport.link;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.transport.link.LinkFrame.Data;
import dunlin.transport.link.LinkFrame.Hello;
import dunlin.transport.link.LinkFrame.Refuse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A link belongs to the caller that began it, which the transport of its pipes has verified. */
class LinkCallerTest {
  private static final Link.Settings SETTINGS = new Link.Settings(10, 1_000, Duration.ofMinutes(1));
  private static final long DIALLER = 5;
  private static final byte[] HELLO = new Hello(DIALLER, 0, 0, new byte[0]).encode();

  private final List<Link> opened = new ArrayList<>();
  private final List<byte[]> received = new ArrayList<>();
  private final List<String> lost = new ArrayList<>();
  private final LinkAcceptor acceptor = new LinkAcceptor(9, SETTINGS, 10, Runnable::run, () -> 0, (link, _) -> handler(link));

  private Link.Handler handler(Link link) {
    opened.add(link);
    return new Link.Handler() {
      @Override
      public void received(byte[] frame) {
        received.add(frame);
      }

      @Override
      public void lost(String reason) {
        lost.add(reason);
      }
    };
  }

  private static final class PipeOf implements Pipe {
    private final String caller;
    private final List<byte[]> sent = new ArrayList<>();
    private boolean closed;

    private PipeOf(String caller) {
      this.caller = caller;
    }

    @Override
    public String caller() {
      return caller;
    }

    @Override
    public void send(byte[] frame) {
      sent.add(frame);
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private PipeOf calls(String caller, byte[]... frames) {
    var pipe = new PipeOf(caller);
    acceptor.connected(pipe);
    for (byte[] frame : frames) acceptor.arrived(pipe, frame);
    return pipe;
  }

  @Test
  void anotherCallerCanNeitherResumeNorEndALink() throws MalformedLinkFrameException {
    var own = calls("one", HELLO, new Data(1, 0, new byte[] {1}).encode());
    assertThat(opened).singleElement().extracting(Link::caller).isEqualTo("one");

    var stranger = calls("two", new Hello(DIALLER, opened.getFirst().identity(), 0, new byte[0]).encode(), new Data(2, 0, new byte[] {6}).encode());

    assertThat(stranger.closed).isTrue();
    assertThat(LinkFrame.decode(stranger.sent.getLast(), 1_000)).isInstanceOfSatisfying(Refuse.class, refuse -> assertThat(refuse.sentence()).contains("a link of one"));
    acceptor.arrived(own, new Data(2, 0, new byte[] {2}).encode());
    assertThat(received).containsExactly(new byte[] {1}, new byte[] {2});
    assertThat(own.closed).isFalse();
    assertThat(lost).isEmpty();
    assertThat(opened).hasSize(1);
  }

  @Test
  void theSameCallerResumesItsLink() {
    var first = calls("one", HELLO, new Data(1, 0, new byte[] {1}).encode());
    acceptor.broken(first);

    calls("one", new Hello(DIALLER, opened.getFirst().identity(), 0, new byte[0]).encode(), new Data(2, 0, new byte[] {2}).encode());

    assertThat(received).containsExactly(new byte[] {1}, new byte[] {2});
    assertThat(opened).hasSize(1);
  }
}
