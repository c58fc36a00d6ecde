package dunlin.transport.call;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.transport.lane.FrameWriter;
import dunlin.transport.link.Link;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What waits to be sent, on a link without a pipe, which keeps it. */
class OutboxTest {
  private static final class Written implements Outbox.Sender<Integer> {
    final List<Integer> written = new ArrayList<>();
    final List<Integer> unsent = new ArrayList<>();
    int frames;
    boolean waitsForConnection;

    @Override
    public boolean waitsForConnection() {
      return waitsForConnection;
    }

    @Override
    public void write(FrameWriter out, Integer item) {
      written.add(item);
      out.number(item);
    }

    @Override
    public void sent() {
      frames++;
    }

    @Override
    public void unsent(Integer item) {
      unsent.add(item);
    }
  }

  private static final class Silent implements Link.Handler {
    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {}
  }

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final Written sender = new Written();
  private final Outbox<Integer> outbox = new Outbox<>(tasks::add, sender);

  private void opens() {
    outbox.opens(Link.dialling(1, new byte[0], new Link.Settings(4, 1_000_000, Duration.ofSeconds(10)), tasks::add, () -> 0, new Silent()));
  }

  private void runOne() {
    tasks.remove().run();
  }

  @Test
  void oneTurnIsAskedForAllThatIsAdded() {
    opens();
    outbox.add(1);
    outbox.add(2);
    assertThat(tasks).hasSize(1);

    runOne();
    assertThat(sender.written).containsExactly(1, 2);
    assertThat(sender.frames).isEqualTo(1);
    outbox.add(3);
    assertThat(tasks).hasSize(1);
  }

  @Test
  void aTurnTakesItsShareAndAsksForAnother() {
    opens();
    for (int i = 0; i < 5_000; i++) outbox.add(i);
    runOne();
    assertThat(sender.written).hasSize(4_096);

    runOne();
    assertThat(sender.written).hasSize(5_000);
    assertThat(tasks).isEmpty();
  }

  @Test
  void noTurnIsAskedForWhileTheLinkIsHalfFull() {
    opens();
    for (int i = 1; i <= 3; i++) {
      outbox.add(i);
      runOne();
    }
    assertThat(sender.written).containsExactly(1, 2);
    assertThat(tasks).isEmpty();
  }

  @Test
  void aSenderMayWaitForTheConnection() {
    sender.waitsForConnection = true;
    opens();
    outbox.add(1);
    runOne();

    assertThat(sender.written).isEmpty();
    assertThat(tasks).as("no turn is asked for").isEmpty();
    outbox.end();
    assertThat(sender.unsent).containsExactly(1);
  }

  @Test
  void whatWaitsWhenTheLinkIsOverAndWhatIsAddedLaterIsHandedBack() {
    opens();
    outbox.add(1);
    outbox.end();
    assertThat(sender.unsent).containsExactly(1);

    runOne();
    outbox.add(2);
    runOne();
    assertThat(sender.unsent).containsExactly(1, 2);
    assertThat(sender.written).isEmpty();
  }

  @Test
  void whatIsAddedBeforeThereIsALinkWaits() {
    outbox.add(1);
    runOne();
    opens();
    outbox.turn();

    assertThat(sender.written).containsExactly(1);
  }

  @Test
  void whatWaitsStaysForTheNextLinkBehindWhatIsSaidAgain() {
    opens();
    outbox.add(1);
    outbox.add(2);
    runOne();
    outbox.add(3);
    outbox.pauses(List.of(1, 2));
    runOne();
    outbox.add(4);
    assertThat(sender.written).containsExactly(1, 2);

    opens();
    runOne();
    assertThat(sender.written).containsExactly(1, 2, 1, 2, 3, 4);
    assertThat(sender.unsent).isEmpty();
  }

  @Test
  void whatIsSaidAgainIsHandedBackFirst() {
    outbox.add(2);
    outbox.pauses(List.of(1));
    outbox.end();

    assertThat(sender.unsent).containsExactly(1, 2);
  }

  @Test
  void aLinkThatIsLostInATurnTakesNothingMore() {
    var lost = new ArrayList<String>();
    var pausing =
        new Link.Handler() {
          @Override
          public void received(byte[] frame) {}

          @Override
          public void lost(String reason) {
            lost.add(reason);
            outbox.pauses(List.of());
          }
        };
    // Four bytes are more than the link takes, and lose it.
    outbox.opens(Link.dialling(1, new byte[0], new Link.Settings(4, 3, Duration.ofSeconds(10)), tasks::add, () -> 0, pausing));
    for (int i = 0; i < 4; i++) outbox.add(i);
    runOne();
    assertThat(lost).hasSize(1);
    outbox.add(4);
    runOne();

    assertThat(sender.written).containsExactly(0, 1, 2, 3);
    opens();
    runOne();
    assertThat(sender.written).containsExactly(0, 1, 2, 3, 4);
  }
}
