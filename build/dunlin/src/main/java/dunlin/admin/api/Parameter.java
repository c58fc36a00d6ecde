package dunlin.admin.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One parameter of an endpoint, with the bounds that a value is checked against before anything is called.
 *
 * @param min of a number; of a text, the fewest characters
 * @param max of a number; of a text, the most characters
 * @param choices the values of a text that may only have these; else empty
 * @param preset the value when none is given, as text; null when the parameter is required, or a text that may be missing, which is empty
 *     then
 */
public record Parameter(
    String name, Place place, Kind kind, boolean required, long min, long max, List<String> choices, @Nullable String preset, String description) {
  /** The most characters of an MQTT string; MQTT 5, section 1.5.4. */
  public static final int TEXT_MAX = 65_535;

  private static final int PRESET_MAX = 128;

  /** Where a request has it. */
  public enum Place {
    PATH,
    QUERY,
    /** A member of the JSON object that is the body. */
    BODY
  }

  public enum Kind {
    TEXT,
    /** A text of lines, which {@code dunlinctl} reads from a file. */
    LINES,
    /** A text that is shown nowhere, and that {@code dunlinctl} reads from a file or without echo. */
    SECRET,
    INTEGER,
    FLAG;

    /** Whether {@code dunlinctl} reads it from a file. */
    public boolean isRead() {
      return this == LINES || this == SECRET;
    }
  }

  public Parameter {
    choices = List.copyOf(choices);
  }

  /** Part of the path; always required and never empty. */
  static Parameter path(String name, String description) {
    return new Parameter(name, Place.PATH, Kind.TEXT, true, 1, TEXT_MAX, List.of(), null, description);
  }

  /** Part of the path that is a number. */
  static Parameter path(String name, long min, long max, String description) {
    return new Parameter(name, Place.PATH, Kind.INTEGER, true, min, max, List.of(), null, description);
  }

  static Parameter required(Place place, String name, String description) {
    return new Parameter(name, place, Kind.TEXT, true, 1, TEXT_MAX, List.of(), null, description);
  }

  static Parameter optional(Place place, String name, String description) {
    return new Parameter(name, place, Kind.TEXT, false, 0, TEXT_MAX, List.of(), null, description);
  }

  /** A text with a value when none is given. */
  static Parameter preset(Place place, String name, String preset, String description) {
    return new Parameter(name, place, Kind.TEXT, false, 1, PRESET_MAX, List.of(), preset, description);
  }

  /** A text of any length that the body has room for. */
  static Parameter large(String name, long max, String description) {
    return new Parameter(name, Place.BODY, Kind.TEXT, false, 0, max, List.of(), null, description);
  }

  /** A text of lines; always required and never empty. */
  static Parameter lines(String name, long max, String description) {
    return new Parameter(name, Place.BODY, Kind.LINES, true, 1, max, List.of(), null, description);
  }

  /** A text that may be missing, and is shown nowhere. */
  static Parameter secret(String name, long max, String description) {
    return new Parameter(name, Place.BODY, Kind.SECRET, false, 0, max, List.of(), null, description);
  }

  /** A text that is shown nowhere; always required. */
  static Parameter requiredSecret(String name, long min, long max, String description) {
    return new Parameter(name, Place.BODY, Kind.SECRET, true, min, max, List.of(), null, description);
  }

  static Parameter choice(Place place, String name, List<String> choices, String description) {
    return new Parameter(name, place, Kind.TEXT, true, 1, TEXT_MAX, choices, null, description);
  }

  /** A text of a few, with the one that is meant when none is given. */
  static Parameter choice(Place place, String name, List<String> choices, String preset, String description) {
    return new Parameter(name, place, Kind.TEXT, false, 1, PRESET_MAX, choices, preset, description);
  }

  static Parameter integer(Place place, String name, long preset, long min, long max, String description) {
    return new Parameter(name, place, Kind.INTEGER, false, min, max, List.of(), Long.toString(preset), description);
  }

  static Parameter flag(Place place, String name, String description) {
    return new Parameter(name, place, Kind.FLAG, false, 0, 0, List.of(), "false", description);
  }
}
