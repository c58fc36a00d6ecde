package dunlin.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.joran.spi.JoranException;
import ch.qos.logback.core.read.ListAppender;
import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import dunlin.runtime.EventLine;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.event.Level;

/** The distribution's conf/logback.xml writes lines of text, or with DUNLIN_LOG=json objects. */
class LogFormatTest {
  private final LoggerContext context = new LoggerContext();

  @AfterEach
  void stop() {
    context.stop();
  }

  /** What the only appender of the root logger makes of an event. */
  private String line() throws JoranException {
    context.setMDCAdapter(new LogbackMDCAdapter());
    var configurator = new JoranConfigurator();
    configurator.setContext(context);
    configurator.doConfigure(Path.of("src/main/dist/conf/logback.xml").toFile());
    Logger events = context.getLogger("dunlin.events");
    var list = new ListAppender<ILoggingEvent>();
    list.start();
    events.addAppender(list);
    events.setAdditive(false); // not to the console
    EventLine.of(events, Level.WARN, "door-opened").text("visitor", "a \"b\"\n").number("times", 3).write();
    assertThat(list.list).hasSize(1);

    var appenders = context.getLogger("ROOT").iteratorForAppenders();
    var appender = (ConsoleAppender<ILoggingEvent>) appenders.next();
    assertThat(appenders.hasNext()).isFalse();
    return new String(appender.getEncoder().encode(list.list.getFirst()), StandardCharsets.UTF_8);
  }

  @Test
  void aLineIsTextByDefault() throws JoranException {
    assertThat(line()).endsWith("dunlin.events - event=door-opened visitor=\"a \\\"b\\\"\\u000a\" times=3\n").contains(" WARN  [");
  }

  @Test
  void aLineIsAnObjectWithTheFieldsOfTheEventOnRequest() throws JoranException {
    context.putProperty("DUNLIN_LOG", "json");

    String line = line();

    assertThat(line).endsWith("}\n");
    assertThat(line.indexOf('\n')).isEqualTo(line.length() - 1);
    var json = JsonParser.parseString(line).getAsJsonObject();
    assertThat(json.get("loggerName").getAsString()).isEqualTo("dunlin.events");
    assertThat(json.get("level").getAsString()).isEqualTo("WARN");
    assertThat(json.get("timestamp").getAsLong()).isPositive();
    assertThat(json.get("formattedMessage").getAsString()).startsWith("event=door-opened visitor=");
    var fields = new TreeMap<String, String>();
    JsonArray pairs = json.getAsJsonArray("kvpList");
    pairs.forEach(pair -> pair.getAsJsonObject().asMap().forEach((key, value) -> fields.put(key, value.getAsString())));
    assertThat(fields).containsEntry("event", "door-opened").containsEntry("visitor", "a \"b\"\\u000a").containsEntry("times", "3").hasSize(3);
  }
}
