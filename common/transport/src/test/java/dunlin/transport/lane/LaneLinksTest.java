package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.transport.link.Link;
import dunlin.transport.link.LinkRefusedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The links of a lane: only the newest delivers. */
class LaneLinksTest {
  private final List<String> heard = new ArrayList<>();
  private final LaneLinks led = LaneLinks.ofLeaders(this::handler);
  private final LaneLinks called = LaneLinks.ofCallers(this::handler);

  private Link.Handler handler(Link link) {
    int number = ++handlers;
    return new Link.Handler() {
      @Override
      public void received(byte[] frame) {
        heard.add(number + ": " + frame[0]);
      }

      @Override
      public void lost(String reason) {
        heard.add(number + " is over");
      }
    };
  }

  private int handlers;

  private static Link link() {
    return Link.dialling(1, new byte[0], new Link.Settings(10, 1_000, Duration.ofSeconds(1)), Runnable::run, System::nanoTime, new Ignored());
  }

  private static final class Ignored implements Link.Handler {
    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {}
  }

  @Test
  void aLinkOfANewerTermEndsTheOneBefore() {
    var old = link();
    var next = link();
    led.open(old, LaneLinks.opening(3));
    led.open(next, LaneLinks.opening(4));

    assertThat(old.isLost()).isTrue();
    assertThat(next.isLost()).isFalse();
    assertThat(heard).containsExactly("1 is over");
  }

  @Test
  void aLinkOfAnOlderTermIsRefusedAlsoWhenTheNewerOneIsOver() {
    var next = link();
    led.open(next, LaneLinks.opening(4));

    assertThatThrownBy(() -> led.open(link(), LaneLinks.opening(3))).isInstanceOf(LinkRefusedException.class).hasMessageContaining("of term 4");
    next.close();
    assertThatThrownBy(() -> led.open(link(), LaneLinks.opening(3))).isInstanceOf(LinkRefusedException.class).hasMessageContaining("of term 4");
    led.open(link(), LaneLinks.opening(4));
    assertThat(handlers).isEqualTo(2);
  }

  @Test
  void aLeadersLinkBeginsWithItsTerm() {
    assertThatThrownBy(() -> led.open(link(), new byte[0])).isInstanceOf(LinkRefusedException.class).hasMessageContaining("begins with its term");
  }

  @Test
  void aCallersNextLinkEndsItsLast() {
    var old = link();
    called.open(old, new byte[0]);
    called.open(link(), new byte[0]);

    assertThat(old.isLost()).isTrue();
    assertThat(heard).containsExactly("1 is over");
  }

  @Test
  void framesThatWereOnTheirWayOverAnEarlierLinkAreNotDelivered() {
    for (long seed = 0; seed < 50; seed++) {
      heard.clear();
      handlers = 0;
      var links = LaneLinks.ofLeaders(this::handler);
      var wires = new Wires(new Random(seed), Link.Settings.defaults(), links);
      var old = wires.dial(LaneLinks.opening(1), new Ignored());
      wires.drain();
      for (byte i = 1; i <= 5; i++) old.send(new byte[] {i});
      var next = wires.dial(LaneLinks.opening(2), new Ignored());
      for (byte i = 1; i <= 5; i++) next.send(new byte[] {i});
      wires.drain();

      int begun = heard.indexOf("2: 1");
      assertThat(heard.subList(begun, heard.size())).as("seed %d", seed).containsExactly("2: 1", "2: 2", "2: 3", "2: 4", "2: 5");
      assertThat(heard).as("seed %d", seed).contains("1 is over");
    }
  }
}
