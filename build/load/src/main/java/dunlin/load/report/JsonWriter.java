package dunlin.load.report;

import java.util.Map;

/** Writes maps, lists, strings, numbers and booleans as JSON. */
final class JsonWriter {
  private static final int ONE_LINE = -1; // as a depth

  private JsonWriter() {}

  static String write(Object value) {
    var out = new StringBuilder();
    write(out, value, 0);
    return out.append('\n').toString();
  }

  /** On one line. */
  static String line(Object value) {
    var out = new StringBuilder();
    write(out, value, ONE_LINE);
    return out.toString();
  }

  private static void write(StringBuilder out, Object value, int depth) {
    int deeper = depth == ONE_LINE ? ONE_LINE : depth + 1;
    switch (value) {
      case Map<?, ?> map -> {
        out.append('{');
        String separator = "";
        for (var entry : map.entrySet()) {
          out.append(separator);
          if (depth != ONE_LINE) out.append('\n').append("  ".repeat(depth + 1));
          text(out, String.valueOf(entry.getKey()));
          out.append(": ");
          write(out, entry.getValue(), deeper);
          separator = ",";
        }
        if (!map.isEmpty() && depth != ONE_LINE) out.append('\n').append("  ".repeat(depth));
        out.append('}');
      }
      case Iterable<?> list -> {
        out.append('[');
        String separator = "";
        for (Object element : list) {
          out.append(separator);
          write(out, element, deeper);
          separator = ", ";
        }
        out.append(']');
      }
      case Double number -> out.append(Double.isFinite(number) ? Double.toString(Math.round(number * 1e6) / 1e6) : "0.0");
      case Number number -> out.append(number);
      case Boolean truth -> out.append(truth);
      default -> text(out, value.toString());
    }
  }

  private static void text(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char next = text.charAt(i);
      if (next == '"' || next == '\\') out.append('\\').append(next);
      else if (next < 0x20 || next == '<') out.append("\\u%04x".formatted((int) next)); // '<' so that it can be embedded in a page
      else out.append(next);
    }
    out.append('"');
  }
}
