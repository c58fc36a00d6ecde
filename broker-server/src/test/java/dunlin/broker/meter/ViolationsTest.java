package dunlin.broker.meter;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.broker.codec.Limit;
import dunlin.model.ReasonCode;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class ViolationsTest {
  private static final InetSocketAddress ADDRESS = new InetSocketAddress(InetAddress.getLoopbackAddress(), 4_711);

  private final Logger logger = (Logger) LoggerFactory.getLogger("dunlin.events");
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5); // wraps around, as nanoTime may
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final Violations violations = new Violations("n1", meters, clock::get);

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

  private List<String> told() {
    return lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  private double errors(String reason) {
    return meters.counter("dunlin.frontend.protocol-errors", "reason", reason).count();
  }

  @Test
  void aViolationIsOneCountAndOneLine() {
    violations.violated(ReasonCode.PROTOCOL_ERROR, null, "c", ADDRESS, "a second CONNECT");

    assertThat(told())
        .containsExactly(
            "event=protocol-error node=n1 client=\"c\" address=\"localhost/127.0.0.1:4711\" reason=protocol-error limit=none"
                + " explanation=\"a second CONNECT\" untold=0");
    assertThat(errors("protocol-error")).isEqualTo(1);
  }

  @Test
  void aLimitIsCountedByItsName() {
    violations.violated(ReasonCode.TOPIC_NAME_INVALID, Limit.TOPIC_LEVELS, "c", ADDRESS, "too deep");

    assertThat(meters.get("dunlin.limits.hit").tag("limit", "topic-levels").counter().count()).isEqualTo(1);
    assertThat(meters.get("dunlin.limits.hit").counters()).hasSize(Limit.values().length);
    assertThat(told().getFirst()).contains(" limit=topic-levels ");
  }

  @Test
  void aFewASecondAreLoggedAndAllAreCounted() {
    for (int i = 0; i < 100; i++) violations.violated(ReasonCode.MALFORMED_PACKET, null, "c", ADDRESS, "x");
    violations.violated(ReasonCode.PROTOCOL_ERROR, null, "c", ADDRESS, "another reason has lines of its own");
    assertThat(told()).hasSize(6);
    assertThat(errors("malformed-packet")).isEqualTo(100);

    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    violations.violated(ReasonCode.MALFORMED_PACKET, null, "c", ADDRESS, "x");
    assertThat(told()).hasSize(7);
    assertThat(told().getLast()).endsWith(" untold=95");

    for (int i = 0; i < 6; i++) violations.violated(ReasonCode.MALFORMED_PACKET, null, "c", ADDRESS, "x");
    violations.flush();
    violations.flush();
    assertThat(told()).hasSize(12);
    assertThat(told().getLast()).isEqualTo("event=protocol-error node=n1 reason=malformed-packet untold=2");
  }

  @Test
  void aClientIdentifierStaysWithinItsQuotes() {
    violations.violated(ReasonCode.PROTOCOL_ERROR, null, "x\" reason=\"none\\\n", ADDRESS, "a \"topic\"");

    assertThat(told().getFirst())
        .contains(" client=\"x\\\" reason=\\\"none\\\\\\u000a\" ")
        .contains(" explanation=\"a \\\"topic\\\"\" ");
  }
}
