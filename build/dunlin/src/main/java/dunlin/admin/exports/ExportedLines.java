package dunlin.admin.exports;

import com.google.gson.JsonParseException;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import dunlin.admin.exports.ExportsMXBean.RetainedExport;
import dunlin.runtime.LogText;
import java.io.IOException;
import java.io.StringReader;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The lines of an export: one that names the format, and a JSON object for each message. */
final class ExportedLines {
  /*
   * Owner: one import, on its thread.
   * Bounds: those of the text; each line is read when it is asked for.
   * Failure: IllegalArgumentException with the number of the line.
   */
  private final Iterator<String> lines;
  private long number;

  /**
   * Reads the first line.
   *
   * @param second the number of the second line in its file
   * @throws IllegalArgumentException when it is not that of a format that is known here
   */
  ExportedLines(String text, long second) {
    lines = text.lines().iterator();
    number = second - 1;
    if (!lines.hasNext()) throw new IllegalArgumentException("there is no line; the first one names the format");
    Header header = read(lines.next(), 1, ExportedLines::header);
    if (!header.format().equals(ExportsMXBean.FORMAT)) throw wrong(1, "the format is " + LogText.quoted(header.format()) + " and not " + ExportsMXBean.FORMAT, null);
    if (header.version() != ExportsMXBean.VERSION) {
      throw wrong(1, "the version of the format is %d; this node reads version %d".formatted(header.version(), ExportsMXBean.VERSION), null);
    }
  }

  private record Header(String format, int version) {}

  @FunctionalInterface
  private interface Form<T> {
    T read(JsonReader json) throws IOException;
  }

  boolean hasNext() {
    return lines.hasNext();
  }

  /** @throws IllegalArgumentException when the next line is none of a message */
  RetainedExport next() {
    String line = lines.next();
    number++;
    return read(line, number, ExportedLines::message);
  }

  /** The number of the line that was read last. */
  long number() {
    return number;
  }

  static IllegalArgumentException wrong(long line, String why, @Nullable Throwable cause) {
    return new IllegalArgumentException("line %d: %s".formatted(line, why), cause);
  }

  private static <T> T read(String line, long number, Form<T> form) {
    try (JsonReader json = new JsonReader(new StringReader(line))) {
      json.setStrictness(Strictness.STRICT);
      T read = form.read(json);
      if (json.peek() != JsonToken.END_DOCUMENT) throw new IllegalArgumentException("something follows its JSON object");
      return read;
    } catch (IOException | IllegalStateException | JsonParseException notJson) {
      throw wrong(number, "it is not a JSON object", notJson);
    } catch (IllegalArgumentException bad) {
      throw wrong(number, String.valueOf(bad.getMessage()), bad);
    }
  }

  private static Header header(JsonReader json) throws IOException {
    String format = "";
    int version = 0;
    Set<String> seen = new HashSet<>();
    json.beginObject();
    while (json.hasNext()) {
      String name = name(json, seen);
      switch (name) {
        case "format" -> format = text(json, name);
        case "version" -> version = number(json, name);
        default -> throw unknown(name);
      }
    }
    json.endObject();
    return new Header(format, version);
  }

  private static RetainedExport message(JsonReader json) throws IOException {
    String topic = "";
    int qos = 1;
    String publisher = "";
    String acceptedAt = "";
    String properties = "";
    String payload = "";
    Set<String> seen = new HashSet<>();
    json.beginObject();
    while (json.hasNext()) {
      String name = name(json, seen);
      switch (name) {
        case "topic" -> topic = text(json, name);
        case "qos" -> qos = number(json, name);
        case "publisher" -> publisher = text(json, name);
        case "acceptedAt" -> acceptedAt = text(json, name);
        case "properties" -> properties = text(json, name);
        case "payload" -> payload = text(json, name);
        default -> throw unknown(name);
      }
    }
    json.endObject();
    return new RetainedExport(topic, qos, publisher, acceptedAt, properties, payload);
  }

  private static String name(JsonReader json, Set<String> seen) throws IOException {
    String name = json.nextName();
    if (!seen.add(name)) throw new IllegalArgumentException("the member %s comes twice".formatted(LogText.quoted(name)));
    return name;
  }

  private static String text(JsonReader json, String name) throws IOException {
    if (json.peek() != JsonToken.STRING) throw new IllegalArgumentException("the member %s is not a text".formatted(name));
    return json.nextString();
  }

  private static int number(JsonReader json, String name) throws IOException {
    String digits = json.peek() == JsonToken.NUMBER ? json.nextString() : "";
    if (!digits.matches("[0-9]{1,9}")) throw new IllegalArgumentException("the member %s is not a number of up to nine digits".formatted(name));
    return Integer.parseInt(digits);
  }

  private static IllegalArgumentException unknown(String name) {
    return new IllegalArgumentException("the member %s is not known".formatted(LogText.quoted(name)));
  }
}
