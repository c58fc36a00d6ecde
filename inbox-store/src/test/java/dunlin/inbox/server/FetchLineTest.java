package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class FetchLineTest {
  /** Readers that accept a bounded number of tasks; the test runs these. */
  private final ArrayDeque<Runnable> readers = new ArrayDeque<>();

  private int room = 10;
  private boolean connecting;
  private long nanos;
  private final ArrayDeque<Runnable> later = new ArrayDeque<>();
  private final FetchLine line = new FetchLine(() -> this::execute, () -> connecting, () -> nanos, later::add);
  private final List<Integer> read = new ArrayList<>();
  private final List<Integer> refused = new ArrayList<>();

  private void execute(Runnable task) {
    if (readers.size() >= room) throw new RejectedExecutionException("full");
    readers.add(task);
  }

  private void add(int number) {
    line.add(
        new FetchLine.Fetch() {
          @Override
          public void read() {
            read.add(number);
          }

          @Override
          public void refused() {
            refused.add(number);
          }
        });
  }

  private void readAll() {
    for (var next = readers.poll(); next != null; next = readers.poll()) next.run();
  }

  @Test
  void fetchesThatTheReadersDoNotAcceptWaitAndAreReadInTurn() {
    for (int i = 0; i < 8_000; i++) add(i);
    assertThat(line.waiting()).isEqualTo(8_000 - room);

    readAll();

    assertThat(read).containsExactlyElementsOf(IntStream.range(0, 8_000).boxed().toList());
    assertThat(line.waiting()).isZero();
    assertThat(refused).isEmpty();
  }

  @Test
  void busyReadersAreTriedAgain() {
    room = 0;
    for (int i = 0; i < 3; i++) add(i);
    assertThat(later).hasSize(1);

    later.remove().run();
    assertThat(later).hasSize(1);
    room = 1;
    later.remove().run();
    readAll();

    assertThat(read).containsExactly(0, 1, 2);
    assertThat(later).isEmpty();
  }

  @Test
  void aReadThatFailsStartsTheNext() {
    room = 1;
    line.add(
        new FetchLine.Fetch() {
          @Override
          public void read() {
            throw new IllegalStateException("broken");
          }

          @Override
          public void refused() {}
        });
    add(1);

    var failing = readers.remove();
    assertThatThrownBy(failing::run).isInstanceOf(IllegalStateException.class);
    readAll();

    assertThat(read).containsExactly(1);
  }

  @Test
  void standsBackWhileClientsConnect() {
    connecting = true;
    for (int i = 0; i < 3; i++) add(i);
    readAll();
    assertThat(read).isEmpty();

    later.remove().run();
    readAll();
    assertThat(read).isEmpty();

    connecting = false;
    later.remove().run();
    readAll();
    assertThat(read).containsExactly(0, 1, 2);
    assertThat(later).isEmpty();
  }

  @Test
  void doesNotStandBackForEver() {
    connecting = true;
    add(0);
    nanos += TimeUnit.SECONDS.toNanos(2);
    add(1);
    later.remove().run();
    readAll();
    assertThat(read).isEmpty();

    nanos += TimeUnit.SECONDS.toNanos(1);
    later.remove().run();
    readAll();
    assertThat(read).containsExactly(0);
    assertThat(later).hasSize(1);
  }

  @Test
  void waitingFetchesFailWhenTheLineCloses() {
    room = 1;
    for (int i = 0; i < 3; i++) add(i);

    line.close();
    add(3);
    readAll();

    assertThat(read).containsExactly(0);
    assertThat(refused).containsExactly(1, 2, 3);
  }
}
