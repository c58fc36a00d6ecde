package dunlin.admin.exports;

import com.google.gson.stream.JsonReader;
import dunlin.runtime.LogText;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A JSON object of a line: texts, numbers, flags, lists of numbers, and objects by their names. */
final class LineObject {
  /*
   * Owner: the thread that reads the line.
   * Bounds: those of the line.
   * Failure: IllegalArgumentException with a sentence, when a member comes twice, is of another type, or was not asked for.
   */
  /** A number as it is written. */
  private record Digits(String text) {}

  /** A value that no member has. */
  private record Other() {}

  private final Map<String, Object> members = new HashMap<>();
  private final Set<String> asked = new HashSet<>();

  private LineObject() {}

  static LineObject read(JsonReader json) throws IOException {
    LineObject read = new LineObject();
    json.beginObject();
    while (json.hasNext()) {
      String name = json.nextName();
      if (read.members.containsKey(name)) throw new IllegalArgumentException("the member %s comes twice".formatted(LogText.quoted(name)));
      read.members.put(name, value(json));
    }
    json.endObject();
    return read;
  }

  private static Object value(JsonReader json) throws IOException {
    return switch (json.peek()) {
      case STRING -> json.nextString();
      case NUMBER -> new Digits(json.nextString());
      case BOOLEAN -> json.nextBoolean();
      case BEGIN_OBJECT -> read(json);
      case BEGIN_ARRAY -> list(json);
      case NULL, END_ARRAY, NAME, END_OBJECT, END_DOCUMENT -> {
        json.skipValue();
        yield new Other();
      }
    };
  }

  private static List<Object> list(JsonReader json) throws IOException {
    List<Object> elements = new ArrayList<>();
    json.beginArray();
    while (json.hasNext()) elements.add(value(json));
    json.endArray();
    return elements;
  }

  private @Nullable Object member(String name) {
    asked.add(name);
    return members.get(name);
  }

  /** Empty when it is missing. */
  String text(String name) {
    return switch (member(name)) {
      case null -> "";
      case String text -> text;
      default -> throw new IllegalArgumentException("the member %s is not a text".formatted(name));
    };
  }

  /** A number from 0 to another one; {@code preset} when it is missing. */
  long number(String name, long preset, long max) {
    Object member = member(name);
    return member == null ? preset : number(name, member, max);
  }

  private static long number(String name, Object value, long max) {
    // Numbers with up to eighteen digits are longs.
    long number = value instanceof Digits(var text) && text.matches("[0-9]{1,18}") ? Long.parseLong(text) : -1;
    if (number < 0 || number > max) throw new IllegalArgumentException("the member %s is not a number from 0 to %d".formatted(name, max));
    return number;
  }

  /** False when it is missing. */
  boolean flag(String name) {
    return switch (member(name)) {
      case null -> false;
      case Boolean flag -> flag;
      default -> throw new IllegalArgumentException("the member %s is neither true nor false".formatted(name));
    };
  }

  /** None when it is missing. */
  List<Integer> numbers(String name, int max) {
    return switch (member(name)) {
      case null -> List.of();
      case List<?> list -> list.stream().map(each -> (int) number(name, each, max)).toList();
      default -> throw new IllegalArgumentException("the member %s is not a list".formatted(name));
    };
  }

  /** Null when it is missing. */
  @Nullable LineObject object(String name) {
    return switch (member(name)) {
      case null -> null;
      case LineObject object -> object;
      default -> throw new IllegalArgumentException("the member %s is not a JSON object".formatted(name));
    };
  }

  /** Called when all members that there may be were asked for. */
  void end() {
    for (String name : members.keySet()) if (!asked.contains(name)) throw new IllegalArgumentException("the member %s is not known".formatted(LogText.quoted(name)));
  }
}
