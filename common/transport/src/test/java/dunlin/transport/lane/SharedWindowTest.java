package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.LaneCredit;
import dunlin.transport.link.Link;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Lanes of several senders share the bytes that one receiver has in flight. */
class SharedWindowTest {
  private static final long BYTES = 4L << 20;

  private final SharedWindow window = new SharedWindow(BYTES);
  private final List<Acknowledgement> unanswered = new ArrayList<>();

  /** One sender with its lane, and the bytes that it was allowed last. */
  private final class Sender implements LaneCredit {
    final Wires wires = new Wires(new Random(1), this::accept);
    final RemoteLane lane = new RemoteLane(wires::dial, wires.senderTasks::add, this, null, UnacknowledgedDrops.unwatched());
    private @Nullable Link accepted;
    long allowed;

    Sender() {
      allowed = SharedWindow.SHARE_MIN;
    }

    private Link.Handler accept(Link link) {
      accepted = link;
      return new ReceivingStream(link, wires.receiverTasks::add, RemoteLane.into(SharedWindowTest.this::take, window));
    }

    Link accepted() {
      if (accepted == null) throw new AssertionError("no link was accepted");
      return accepted;
    }

    void publish() {
      byte[] body = "topic".getBytes(StandardCharsets.UTF_8);
      var message = new Publication(new Publisher("t", "c"), QoS.AT_MOST_ONCE, false, 0, Publication.NEVER_EXPIRES, -1, body.length, 0, body, null);
      lane.append(message, null, null);
    }

    @Override
    public void take(int size) {}

    @Override
    public void give(int messages, long bytes) {}

    @Override
    public void allow(long bytesMax) {
      allowed = bytesMax;
    }
  }

  private void take(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement == null) throw new AssertionError("a message without a receipt");
    acknowledgement.expect();
    unanswered.add(acknowledgement);
  }

  private static void drain(Sender... senders) {
    for (int rounds = 0; rounds < 10; rounds++) {
      for (Sender each : senders) each.wires.drain();
    }
  }

  @Test
  void allLanesGetAnEqualShareAndHearWhenItChanges() {
    var one = new Sender();
    var two = new Sender();
    one.publish();
    drain(one);
    assertThat(one.allowed).isEqualTo(BYTES);

    two.publish();
    drain(one, two);
    assertThat(List.of(one.allowed, two.allowed)).containsOnly(BYTES / 2);

    two.wires.senderGivesUp();
    assertThat(two.allowed).isEqualTo(SharedWindow.SHARE_MIN);
    two.wires.breaks(); // the receiver learns that the pipe is gone, and waits as long for another one
    two.wires.senderGivesUp();
    two.accepted().tick();
    drain(one, two);
    assertThat(one.allowed).isEqualTo(BYTES);
  }

  @Test
  void aLaneThatSendsMalformedFramesGivesItsShareBack() {
    var one = new Sender();
    var two = new Sender();
    one.publish();
    two.publish();
    drain(one, two);

    two.wires.dialled().send(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9});
    drain(one, two);

    assertThat(two.accepted().isLost()).isTrue();
    assertThat(one.allowed).isEqualTo(BYTES);
  }

  @Test
  void eachLaneHasTheSmallestShareAtLeast() {
    var tight = new SharedWindow(1);
    assertThat(tight.share()).isEqualTo(SharedWindow.SHARE_MIN);
    assertThatThrownBy(() -> new SharedWindow(0)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void countsTheBytesThatAreNotAnswered() {
    var one = new Sender();
    one.publish();
    one.publish();
    drain(one);
    assertThat(window.used()).isEqualTo(2L * "topic".length());

    unanswered.removeFirst().answer(ReasonCode.SUCCESS);
    drain(one);
    assertThat(window.used()).isEqualTo("topic".length());
  }

  @Test
  void aShareBelowTheSmallestIsMalformed() {
    var out = new FrameWriter();
    out.number(SharedWindow.SHARE_MIN - 1);
    byte[] frame = out.take();
    assertThatThrownBy(() -> SharedWindow.decode(new FrameReader(frame))).isInstanceOf(MalformedFrameException.class);
  }
}
