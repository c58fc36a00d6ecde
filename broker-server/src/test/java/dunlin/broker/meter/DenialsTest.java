package dunlin.broker.meter;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** All denials are counted, and a few a second of each kind are lines in the log of events. */
class DenialsTest {
  private final AtomicLong clock = new AtomicLong();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final Denials denials = new Denials("n1", meters, clock::get);

  @Test
  void allAreCountedAndAFewAreLogged() {
    Logger logger = (Logger) LoggerFactory.getLogger("dunlin.audit");
    Level before = logger.getLevel();
    var lines = new ListAppender<ILoggingEvent>();
    lines.start();
    logger.setLevel(Level.INFO);
    logger.setAdditive(false);
    logger.addAppender(lines);
    try {
      for (int i = 0; i < 100; i++) denials.denied(Denials.Kind.PUBLISH, "c\"\n", "u", "a/b");
      denials.denied(Denials.Kind.SUBSCRIBE, "c", "", "$share/g/#");
      clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
      denials.denied(Denials.Kind.PUBLISH, "c", "u", "a/b");
      for (int i = 0; i < 5; i++) denials.denied(Denials.Kind.SUBSCRIBE, "c", "", "x");
      denials.denied(Denials.Kind.SUBSCRIBE, "c", "", "x");
      denials.flush();
      denials.flush();
    } finally {
      logger.detachAppender(lines);
      logger.setAdditive(true);
      logger.setLevel(before);
    }

    List<String> told = lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    assertThat(told.getFirst()).isEqualTo("event=access-denied node=n1 kind=publish client=\"c\\\"\\u000a\" user=\"u\" topic=\"a/b\" untold=0");
    assertThat(told).hasSize(5 + 1 + 1 + 5 + 1);
    assertThat(told.get(5)).contains("kind=subscribe", "topic=\"$share/g/#\"");
    assertThat(told.get(6)).endsWith(" untold=95");
    assertThat(told.getLast()).isEqualTo("event=access-denied node=n1 kind=subscribe untold=1");
    assertThat(meters.get("dunlin.auth.denied").tag("kind", "publish").counter().count()).isEqualTo(101);
  }
}
