package dunlin.ctl;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Shows answers to a person, or to a script as JSON. */
enum Output {
  TABLE {
    @Override
    void rows(JsonArray rows, List<String> columns, PrintStream out) {
      List<List<String>> lines = new ArrayList<>();
      lines.add(columns.stream().map(Output::title).toList());
      for (JsonElement row : rows) lines.add(columns.stream().map(column -> cell(row.getAsJsonObject().get(column))).toList());
      int[] widths = new int[columns.size()];
      for (List<String> line : lines) for (int i = 0; i < widths.length; i++) widths[i] = Math.max(widths[i], line.get(i).length());
      for (List<String> line : lines) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < widths.length; i++) text.append(padded(line.get(i), widths[i] + 2));
        out.println(text.toString().stripTrailing());
      }
    }

    @Override
    void one(JsonObject answer, PrintStream out) {
      int width = answer.keySet().stream().mapToInt(String::length).max().orElse(0);
      answer.asMap().forEach(
          (name, value) -> {
            if (!isTable(value)) out.println(padded(name, width + 2) + cell(value));
          });
      for (JsonElement value : answer.asMap().values()) {
        if (!isTable(value)) continue;
        out.println();
        JsonArray rows = value.getAsJsonArray();
        rows(rows, List.copyOf(rows.get(0).getAsJsonObject().keySet()), out);
      }
    }

    @Override
    void event(JsonObject event, PrintStream out) {
      one(event, out);
      out.println();
    }

    @Override
    void line(JsonObject event, PrintStream out) {
      out.println(event.asMap().values().stream().map(Output::cell).collect(Collectors.joining("  ")));
    }
  },
  JSON {
    @Override
    void rows(JsonArray rows, List<String> columns, PrintStream out) {
      out.println(PRETTY.toJson(rows));
    }

    @Override
    void one(JsonObject answer, PrintStream out) {
      out.println(PRETTY.toJson(answer));
    }

    @Override
    void event(JsonObject event, PrintStream out) {
      out.println(event);
    }

    @Override
    void line(JsonObject event, PrintStream out) {
      event(event, out);
    }
  };

  private static final Gson PRETTY = new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

  /** Shows the rows of a listing, of these members. */
  abstract void rows(JsonArray rows, List<String> columns, PrintStream out);

  abstract void one(JsonObject answer, PrintStream out);

  /** Shows one of several: for a script, in one line. */
  abstract void event(JsonObject event, PrintStream out);

  /** Shows one of many: in one line. */
  abstract void line(JsonObject event, PrintStream out);

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether it is a list of objects of one kind, which has room below the other members. */
  private static boolean isTable(JsonElement value) {
    return value.isJsonArray() && !value.getAsJsonArray().isEmpty() && value.getAsJsonArray().get(0).isJsonObject();
  }

  private static String padded(String text, int width) {
    return text + " ".repeat(Math.max(0, width - text.length()));
  }

  private static String title(String member) {
    return member.replaceAll("([a-z])([A-Z])", "$1 $2").toUpperCase(Locale.ROOT);
  }

  /** Clients choose their names, so no control character of one may reach a terminal. */
  static String cell(JsonElement value) {
    if (value == null) return "";
    String text = value.isJsonPrimitive() ? value.getAsString() : value.toString();
    if (text.isEmpty()) return "-";
    StringBuilder shown = new StringBuilder();
    text.codePoints()
        .forEach(
            c -> {
              if (Character.isISOControl(c) || Character.getType(c) == Character.FORMAT) shown.append(String.format(Locale.ROOT, "\\u%04x", c));
              else shown.appendCodePoint(c);
            });
    return shown.toString();
  }
}
