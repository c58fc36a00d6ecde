package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.read.ListAppender;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.event.Level;

class EventLineTest {
  private final LoggerContext context = new LoggerContext();
  private final Logger logger = context.getLogger("dunlin.events");
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

  @BeforeEach
  void listen() {
    context.setMDCAdapter(new LogbackMDCAdapter());
    lines.start();
    logger.addAppender(lines);
  }

  private static void write(org.slf4j.Logger to, Level level) {
    EventLine.of(to, level, "door-opened").word("door", "front").text("visitor", "a \"b\" \\\n\u202E").number("times", 3).flag("rang", true).write();
  }

  @Test
  void aLineHasItsNameAndItsFieldsInTheirOrder() {
    write(logger, Level.WARN);

    assertThat(lines.list).hasSize(1);
    assertThat(lines.list.getFirst().getLevel()).isEqualTo(ch.qos.logback.classic.Level.WARN);
    assertThat(lines.list.getFirst().getFormattedMessage())
        .isEqualTo("event=door-opened door=front visitor=\"a \\\"b\\\" \\\\\\u000a\\u202e\" times=3 rang=true");
  }

  @Test
  void theFieldsAreApartInJson() {
    write(logger, Level.WARN);

    var encoder = new JsonEncoder();
    encoder.setContext(context);
    encoder.start();
    String json = new String(encoder.encode(lines.list.getFirst()), StandardCharsets.UTF_8);
    assertThat(json)
        .contains("\"event\":\"door-opened\"", "\"door\":\"front\"", "\"visitor\":\"a \\\"b\\\" \\\\\\\\u000a\\\\u202e\"", "\"times\":\"3\"", "\"rang\":\"true\"")
        .endsWith("}\n");
    assertThat(json.strip()).doesNotContain("\n", "\u202E");
  }

  @Test
  void partsAreInQuotesWithinQuotesAndNotTruncatedTogether() {
    String longest = "x".repeat(128);
    EventLine.of(logger, Level.INFO, "door-opened")
        .parts("given", List.of("a=" + LogText.quoted(longest), "b=" + LogText.quoted(longest), "c=" + LogText.quoted("\\ \" d=\"e")))
        .write();

    String inQuotes = "a=\\\"%s\\\" b=\\\"%s\\\" c=\\\"\\\\\\\\ \\\\\\\" d=\\\\\\\"e\\\"".formatted(longest, longest);
    assertThat(lines.list.getFirst().getFormattedMessage()).isEqualTo("event=door-opened given=\"" + inQuotes + "\"");
    assertThat(lines.list.getFirst().getKeyValuePairs().getLast().value).isEqualTo("a=\"%s\" b=\"%s\" c=\"\\\\ \\\" d=\\\"e\"".formatted(longest, longest));
  }

  @Test
  void aLevelThatIsOffWritesNothing() {
    write(logger, Level.TRACE);

    assertThat(lines.list).isEmpty();
  }

  /** A library that only knows texts: SLF4J itself would put key-value pairs in front of the text. */
  @Test
  void aLibraryThatKeepsNoFieldsGetsTheTextOnce() {
    var written = new ArrayList<String>();
    var plain =
        (org.slf4j.Logger)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {org.slf4j.Logger.class},
                (proxy, method, arguments) ->
                    switch (method.getName()) {
                      case "atLevel", "makeLoggingEventBuilder" -> new org.slf4j.spi.DefaultLoggingEventBuilder((org.slf4j.Logger) proxy, (Level) arguments[0]);
                      case "info" -> {
                        written.add((String) arguments[0]);
                        yield null;
                      }
                      default -> throw new AssertionError(method);
                    });
    write(plain, Level.INFO);

    assertThat(written).isEqualTo(List.of("event=door-opened door=front visitor=\"a \\\"b\\\" \\\\\\u000a\\u202e\" times=3 rang=true"));
  }
}
