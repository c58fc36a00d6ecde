package dunlin.runtime;

import java.util.List;
import org.slf4j.Logger;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventAware;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * One line about an event, for programs as well as people: {@code event=<name> field=value ...}. Names and fields are stable;
 * docs/events.md lists them, and a test compares it with the code.
 *
 * <p>A logging library that keeps fields apart gets them as key-value pairs, too, so that it can write the line as JSON. To
 * others SLF4J would add them to the text, in which they are already.
 */
public final class EventLine {
  /*
   * Owner: the thread that writes the line; none is kept.
   * Bounds: each text from outside is truncated (LogText). Who can cause lines at will is limited by the caller (LineLimit).
   */
  private final boolean fieldsApart;
  private final StringBuilder text = new StringBuilder(128);

  private LoggingEventBuilder line;

  private EventLine(Logger log, Level level, String name) {
    line = log.atLevel(level);
    fieldsApart = log instanceof LoggingEventAware;
    word("event", name);
  }

  /** @param name in lower case with dashes */
  public static EventLine of(Logger log, Level level, String name) {
    return new EventLine(log, level, name);
  }

  /** Adds a value from a closed set, without spaces or quotes. */
  public EventLine word(String field, String value) {
    return add(field, value, value);
  }

  /** Adds a text from outside, in quotes, as {@link LogText#quoted}. */
  public EventLine text(String field, String value) {
    return add(field, LogText.quoted(value), LogText.escaped(value));
  }

  /**
   * Adds texts with spaces between them, of which each is safe already, such as a name with its value as {@link LogText#quoted}. They are not truncated
   * together, so their number has to be bounded.
   */
  public EventLine parts(String field, List<String> parts) {
    String joined = String.join(" ", parts);
    return add(field, '"' + joined.replace("\\", "\\\\").replace("\"", "\\\"") + '"', joined);
  }

  public EventLine number(String field, long value) {
    return add(field, Long.toString(value), value);
  }

  public EventLine flag(String field, boolean value) {
    return add(field, Boolean.toString(value), value);
  }

  private EventLine add(String field, String shown, Object value) {
    if (!text.isEmpty()) text.append(' ');
    text.append(field).append('=').append(shown);
    if (fieldsApart) line = line.addKeyValue(field, value);
    return this;
  }

  public void write() {
    line.log(text.toString());
  }
}
