package dunlin.runtime;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses and formats durations, sizes and choices. Readers throw IllegalArgumentException. */
final class SettingText {
  private static final Pattern NUMBER_WITH_UNIT = Pattern.compile("([0-9]{1,19}) *([A-Za-z]*)");

  /** Units from the largest, so that the first one that divides a length gives the shortest text. */
  private static final Map<String, Long> NANOS = nanosByUnit();

  private static final Map<String, Long> BYTES = bytesByUnit();

  private SettingText() {}

  static boolean readFlag(String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("neither true nor false");
    };
  }

  static Path readPath(RawSetting raw) {
    String text = raw.text().strip();
    if (text.isEmpty()) throw new IllegalArgumentException("an empty path");
    return raw.directory().resolve(text); // InvalidPathException is an IllegalArgumentException
  }

  /** A number needs a unit: "30" could mean seconds or milliseconds. */
  static Duration readDuration(String text) {
    Matcher matcher = matched(text);
    Long unit = NANOS.get(matcher.group(2).toLowerCase(Locale.ROOT));
    if (unit == null) throw new IllegalArgumentException("without a unit (ms, s, m, h, d): " + text);
    return Duration.ofNanos(times(matcher, unit));
  }

  static String writeDuration(Duration duration) {
    return write(duration.toNanos(), NANOS, "0s");
  }

  static long readBytes(String text) {
    Matcher matcher = matched(text);
    String name = matcher.group(2);
    if (name.isEmpty()) return times(matcher, 1);
    for (Map.Entry<String, Long> unit : BYTES.entrySet()) {
      if (unit.getKey().equalsIgnoreCase(name)) return times(matcher, unit.getValue());
    }
    throw new IllegalArgumentException("not a unit (B, KiB, MiB, GiB, TiB): " + text);
  }

  static String writeBytes(long bytes) {
    return write(bytes, BYTES, "0");
  }

  static <E extends Enum<E>> E readEnum(Class<E> type, String text) {
    for (E constant : type.getEnumConstants()) {
      if (writeEnum(constant).equals(text)) return constant;
    }
    throw new IllegalArgumentException("not one of the choices: " + text);
  }

  /** An enum may define the texts of its constants by toString. */
  static String writeEnum(Enum<?> constant) {
    String spelled = constant.toString();
    return spelled.equals(constant.name()) ? spelled.toLowerCase(Locale.ROOT).replace('_', '-') : spelled;
  }

  private static Matcher matched(String text) {
    Matcher matcher = NUMBER_WITH_UNIT.matcher(text);
    if (!matcher.matches()) throw new IllegalArgumentException("not a number with a unit: " + text);
    return matcher;
  }

  private static long times(Matcher number, long unit) {
    try {
      return Math.multiplyExact(Long.parseLong(number.group(1)), unit);
    } catch (ArithmeticException tooLarge) {
      throw new IllegalArgumentException("too large: " + number.group(), tooLarge);
    }
  }

  private static String write(long amount, Map<String, Long> units, String zero) {
    if (amount == 0) return zero;
    for (Map.Entry<String, Long> unit : units.entrySet()) {
      if (amount % unit.getValue() == 0) return amount / unit.getValue() + unit.getKey();
    }
    return Long.toString(amount);
  }

  private static Map<String, Long> nanosByUnit() {
    Map<String, Long> nanos = new LinkedHashMap<>();
    nanos.put("d", Duration.ofDays(1).toNanos());
    nanos.put("h", Duration.ofHours(1).toNanos());
    nanos.put("m", Duration.ofMinutes(1).toNanos());
    nanos.put("s", Duration.ofSeconds(1).toNanos());
    nanos.put("ms", Duration.ofMillis(1).toNanos());
    nanos.put("us", 1_000L);
    nanos.put("ns", 1L);
    return nanos;
  }

  private static Map<String, Long> bytesByUnit() {
    Map<String, Long> bytes = new LinkedHashMap<>();
    bytes.put("TiB", 1L << 40);
    bytes.put("GiB", 1L << 30);
    bytes.put("MiB", 1L << 20);
    bytes.put("KiB", 1L << 10);
    bytes.put("B", 1L);
    return bytes;
  }
}
