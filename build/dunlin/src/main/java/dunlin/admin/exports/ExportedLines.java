package dunlin.admin.exports;

import static dunlin.admin.exports.ExportsMXBean.LINES_MAX;

import com.google.gson.JsonParseException;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import dunlin.admin.exports.ExportsMXBean.RetainedExport;
import dunlin.admin.exports.SessionExportsMXBean.SessionLine;
import dunlin.runtime.LogText;
import java.io.IOException;
import java.io.StringReader;
import java.util.Iterator;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The lines of an export: one that names the format, and a JSON object in each other one.
 *
 * @param <T> what a line says
 */
final class ExportedLines<T> {
  /*
   * Owner: one import, on its thread.
   * Bounds: LINES_MAX characters; each line is read when it is asked for.
   * Failure: IllegalArgumentException with the number of the line.
   */
  private static final int NINE_DIGITS = 999_999_999;

  private final Iterator<String> lines;
  private final Function<LineObject, T> form;
  private long number;

  private ExportedLines(String text, long second, String format, int version, Function<LineObject, T> form) {
    if (text.length() > LINES_MAX) throw new IllegalArgumentException("the lines have %d characters, the limit is %d".formatted(text.length(), LINES_MAX));
    lines = text.lines().iterator();
    this.form = form;
    number = second - 1;
    if (!lines.hasNext()) throw new IllegalArgumentException("there is no line; the first one names the format");
    Header header = read(lines.next(), 1, ExportedLines::header);
    if (!header.format().equals(format)) throw wrong(1, "the format is " + LogText.quoted(header.format()) + " and not " + format, null);
    if (header.version() != version) throw wrong(1, "the version of the format is %d; this node reads version %d".formatted(header.version(), version), null);
  }

  /**
   * Reads the first line of retained messages.
   *
   * @param second the number of the second line in its file
   * @throws IllegalArgumentException when the text is too long, or its first line is not that of a format that is known here
   */
  static ExportedLines<RetainedExport> retained(String text, long second) {
    return new ExportedLines<>(text, second, ExportsMXBean.FORMAT, ExportsMXBean.VERSION, ExportedLines::message);
  }

  /** The same for sessions. */
  static ExportedLines<SessionLine> sessions(String text, long second) {
    return new ExportedLines<>(text, second, SessionExportsMXBean.FORMAT, SessionExportsMXBean.VERSION, SessionLineForm::read);
  }

  private record Header(String format, int version) {}

  boolean hasNext() {
    return lines.hasNext();
  }

  /** @throws IllegalArgumentException when the next line is none of the format */
  T next() {
    String line = lines.next();
    number++;
    return read(line, number, form);
  }

  /** The number of the line that was read last. */
  long number() {
    return number;
  }

  static IllegalArgumentException wrong(long line, String why, @Nullable Throwable cause) {
    return new IllegalArgumentException("line %d: %s".formatted(line, why), cause);
  }

  private static <T> T read(String line, long number, Function<LineObject, T> form) {
    try (JsonReader json = new JsonReader(new StringReader(line))) {
      json.setStrictness(Strictness.STRICT);
      LineObject object = LineObject.read(json);
      if (json.peek() != JsonToken.END_DOCUMENT) throw new IllegalArgumentException("something follows its JSON object");
      T read = form.apply(object);
      object.end();
      return read;
    } catch (IOException | IllegalStateException | JsonParseException notJson) {
      throw wrong(number, "it is not a JSON object", notJson);
    } catch (IllegalArgumentException bad) {
      throw wrong(number, String.valueOf(bad.getMessage()), bad);
    }
  }

  private static Header header(LineObject line) {
    return new Header(line.text("format"), (int) line.number("version", 0, NINE_DIGITS));
  }

  private static RetainedExport message(LineObject line) {
    return new RetainedExport(
        line.text("topic"), (int) line.number("qos", 1, NINE_DIGITS), line.text("publisher"), line.text("acceptedAt"), line.text("properties"), line.text("payload"));
  }
}
