package dunlin.transport.link;

import static dunlin.transport.link.LinkParts.ACCEPTOR;
import static dunlin.transport.link.LinkParts.DIALLER;
import static dunlin.transport.link.LinkParts.OPENING;
import static dunlin.transport.link.LinkParts.bytes;
import static dunlin.transport.link.LinkParts.data;
import static dunlin.transport.link.LinkParts.hello;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.transport.link.LinkFrame.Confirm;
import dunlin.transport.link.LinkFrame.Data;
import dunlin.transport.link.LinkParts.Ear;
import dunlin.transport.link.LinkParts.Sent;
import java.util.ArrayDeque;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When a link with the default bounds confirms what has come. */
class LinkConfirmationsTest {
  private final ArrayDeque<Runnable> round = new ArrayDeque<>();
  private final Sent pipe = new Sent();
  private final Link link = Link.dialling(DIALLER, OPENING, Link.Settings.defaults(), round::add, () -> 0, new Ear());
  private long frames;

  @BeforeEach
  void greet() {
    link.connected(pipe);
    link.arrived(pipe, hello(ACCEPTOR, DIALLER, 0));
    pipe.frames.clear();
  }

  private void arrives(int count) {
    for (int i = 0; i < count; i++) link.arrived(pipe, data(++frames, 0, "x"));
    endRound();
  }

  private void endRound() {
    while (!round.isEmpty()) round.remove().run();
  }

  @Test
  void confirmsEveryEighthFrame() {
    arrives(7);
    assertThat(pipe.frames).isEmpty();
    arrives(1);
    assertThat(pipe.frames).containsExactly(new Confirm(8));
    arrives(7);
    assertThat(pipe.frames).hasSize(1);
    arrives(3);
    assertThat(pipe.frames).containsExactly(new Confirm(8), new Confirm(18));
  }

  @Test
  void confirmsManyBytes() {
    link.arrived(pipe, data(++frames, 0, "x".repeat(65_535)));
    endRound();
    assertThat(pipe.frames).isEmpty();
    arrives(1);
    assertThat(pipe.frames).containsExactly(new Confirm(2));
    arrives(1);
    assertThat(pipe.frames).as("bytes are counted anew").hasSize(1);
  }

  @Test
  void aFrameOfTheOtherDirectionConfirmsAll() {
    arrives(7);
    link.send(bytes("a"));
    assertThat(pipe.texts()).containsExactly("DATA 1 7 a");
    arrives(7);
    assertThat(pipe.frames).as("frames are counted anew").singleElement().isInstanceOf(Data.class);
  }

  @Test
  void aTickConfirmsTheRest() {
    arrives(3);
    link.tick();
    assertThat(pipe.frames).containsExactly(new Confirm(3));
    link.tick();
    assertThat(pipe.frames).as("nothing more has come").hasSize(1);
  }

  @Test
  void confirmsSoonForAHandlerThatAsksForIt() {
    arrives(1);
    link.confirmSoon();
    link.confirmSoon();
    assertThat(pipe.frames).as("not before the end of the round").isEmpty();
    endRound();
    assertThat(pipe.frames).containsExactly(new Confirm(1));
    link.confirmSoon();
    assertThat(round).as("nothing more has come").isEmpty();
  }

  @Test
  void confirmsAnEmptyFrame() {
    arrives(1);
    link.arrived(pipe, data(++frames, 0, ""));
    endRound();
    assertThat(pipe.frames).containsExactly(new Confirm(2));
  }

  @Test
  void confirmsNothingWithoutAPipe() {
    arrives(1);
    link.confirmSoon();
    link.broken(pipe);
    endRound();
    link.tick();
    assertThat(pipe.frames).isEmpty();

    var next = new Sent();
    link.connected(next);
    link.arrived(next, hello(ACCEPTOR, DIALLER, 0));
    endRound();
    assertThat(next.texts()).as("its HELLO has said it").containsExactly("HELLO 11 -22 1 node a");
  }
}
