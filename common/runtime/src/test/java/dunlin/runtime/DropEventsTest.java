package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class DropEventsTest {
  private static final Pattern NUMBER = Pattern.compile("messages=(\\d+)");

  private final Logger logger = (Logger) LoggerFactory.getLogger("dunlin.events");
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5); // wraps around, as nanoTime may do
  private final DropEvents events = new DropEvents("n1", clock::get);

  @BeforeEach
  void listen() {
    lines.start();
    logger.setAdditive(false);
    logger.addAppender(lines);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(lines);
    logger.setAdditive(true);
  }

  @Test
  void theFirstDropIsLoggedAtOnceAndTheRestOncePerSecond() {
    events.dropped("session", DropReason.QUEUE_FULL, 1, "a");
    for (int i = 0; i < 100; i++) events.dropped("session", DropReason.QUEUE_FULL, 2, "b");
    assertThat(messages()).containsExactly("event=messages-dropped node=n1 hop=session reason=queue-full messages=1 client=\"a\"");

    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    events.dropped("session", DropReason.QUEUE_FULL, 1, "");

    assertThat(messages()).hasSize(2);
    assertThat(messages().getLast())
        .isEqualTo("event=messages-dropped node=n1 hop=session reason=queue-full messages=201 client=\"b\"");
    assertThat(lines.list).allMatch(line -> line.getLevel() == Level.WARN);
  }

  @Test
  void reasonsAndHopsAreLoggedSeparately() {
    events.dropped("session", DropReason.EXPIRED, 1, "");
    events.dropped("session", DropReason.OFFLINE, 1, "");
    events.dropped("inbox", DropReason.EXPIRED, 1, "");

    assertThat(messages())
        .containsExactly(
            "event=messages-dropped node=n1 hop=session reason=expired messages=1 client=\"\"",
            "event=messages-dropped node=n1 hop=session reason=offline messages=1 client=\"\"",
            "event=messages-dropped node=n1 hop=inbox reason=expired messages=1 client=\"\"");
  }

  @Test
  void flushLogsDueDropsAndCloseTheRest() {
    events.dropped("session", DropReason.EXPIRED, 1, "");
    events.dropped("session", DropReason.EXPIRED, 5, "");
    events.flush();
    assertThat(told()).isEqualTo(1);

    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    events.flush();
    assertThat(told()).isEqualTo(6);

    events.dropped("session", DropReason.EXPIRED, 7, "");
    events.close();
    assertThat(told()).isEqualTo(13);
    events.close();
    assertThat(messages()).hasSize(3);
  }

  @Test
  void theLinesOfManyThreadsAddUp() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int n = 0; n < 20_000; n++) {
                      events.dropped("session", DropReason.OFFLINE, 1, "c");
                      clock.addAndGet(100_000);
                    }
                  }));
    }
    for (Thread thread : threads) thread.join();
    events.close();

    assertThat(told()).isEqualTo(80_000);
    assertThat(messages()).hasSizeBetween(8, 10);
  }

  @Test
  void clientIdentifiersCannotForgeLines() {
    events.dropped("session", DropReason.OFFLINE, 1, "x\nERROR all is lost\u202e" + "y".repeat(1_000));

    assertThat(messages().getFirst()).doesNotContain("\n", "\u202e").contains("x\\u000aERROR").hasSizeLessThan(300);
  }

  @Test
  void furtherHopsAreCountedTogether() {
    for (int i = 0; i < 200; i++) events.dropped("hop" + i, DropReason.OFFLINE, 1, "");
    events.close();

    assertThat(told()).isEqualTo(200);
    assertThat(messages()).anyMatch(line -> line.contains("hop=other ")).hasSizeLessThanOrEqualTo(66);
  }

  private List<String> messages() {
    return lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  private long told() {
    return messages().stream().map(NUMBER::matcher).filter(Matcher::find).mapToLong(m -> Long.parseLong(m.group(1))).sum();
  }
}
