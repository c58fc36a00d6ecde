package dunlin.load.plan;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses durations, rates and sizes. The message of an {@link IllegalArgumentException} is one sentence that names the error. */
public final class Units {
  private static final Pattern NUMBER_AND_UNIT = Pattern.compile("\\s*([0-9]+(?:\\.[0-9]+)?)\\s*([A-Za-zµ]*)\\s*");
  private static final Pattern RATE = Pattern.compile("\\s*([0-9]+(?:\\.[0-9]+)?)\\s*/\\s*([a-z]+)\\s*");
  private static final Pattern EVERY = Pattern.compile("\\s*every\\s+(\\S+)\\s*");

  private Units() {}

  /** For example {@code 50ms}, {@code 10s}, {@code 5min}, {@code 1h}. */
  public static Duration duration(String text) {
    Matcher matcher = NUMBER_AND_UNIT.matcher(text);
    if (!matcher.matches()) throw new IllegalArgumentException("\"%s\" is no duration; write one as 50ms, 10s, 5min or 1h".formatted(text));
    double nanos =
        switch (matcher.group(2)) {
          case "us", "µs" -> 1e3;
          case "ms" -> 1e6;
          case "s" -> 1e9;
          case "m", "min" -> 60e9;
          case "h" -> 3_600e9;
          case "" -> throw new IllegalArgumentException("the duration %s has no unit; write ms, s, min or h behind it".formatted(text.strip()));
          default -> throw new IllegalArgumentException("\"%s\" is no unit of time; there are us, ms, s, min and h".formatted(matcher.group(2)));
        };
    return Duration.ofNanos(Math.round(Double.parseDouble(matcher.group(1)) * nanos));
  }

  /** For example {@code 20/s}, {@code 600/min}, {@code every 90s}. */
  public static Rate rate(String text) {
    Matcher every = EVERY.matcher(text);
    if (every.matches()) {
      Duration interval = duration(every.group(1));
      if (interval.isZero()) throw new IllegalArgumentException("\"%s\" is no rate, since the interval is 0".formatted(text.strip()));
      return new Rate(1e9 / interval.toNanos());
    }
    Matcher matcher = RATE.matcher(text);
    if (matcher.matches()) {
      double number = Double.parseDouble(matcher.group(1));
      if (number == 0) throw new IllegalArgumentException("the rate %s is 0".formatted(text.strip()));
      return switch (matcher.group(2)) {
        case "s" -> new Rate(number);
        case "m", "min" -> new Rate(number / 60);
        case "h" -> new Rate(number / 3_600);
        default -> throw new IllegalArgumentException("\"%s\" is no unit of a rate; there are /s, /min and /h".formatted(matcher.group(2)));
      };
    }
    if (text.matches("\\s*[0-9.]+\\s*")) {
      throw new IllegalArgumentException("the rate %s has no unit; write %s/s, %<s/min or %<s/h".formatted(text.strip(), text.strip()));
    }
    throw new IllegalArgumentException("\"%s\" is no rate; write one as 20/s, 600/min or every 90s".formatted(text.strip()));
  }

  /** Bytes, for example {@code 256}, {@code 1KB}. */
  public static int bytes(String text) {
    Matcher matcher = NUMBER_AND_UNIT.matcher(text);
    if (!matcher.matches()) throw new IllegalArgumentException("\"%s\" is no size; write one as 256 or 1KB".formatted(text));
    double factor =
        switch (matcher.group(2).toUpperCase(Locale.ROOT)) {
          case "", "B" -> 1;
          case "KB", "K" -> 1_000;
          case "KIB" -> 1_024;
          case "MB", "M" -> 1_000_000;
          case "MIB" -> 1_024 * 1_024;
          default -> throw new IllegalArgumentException("\"%s\" is no unit of size; there are B, KB, KiB, MB and MiB".formatted(matcher.group(2)));
        };
    double bytes = Double.parseDouble(matcher.group(1)) * factor;
    if (bytes > Payload.BYTES_MAX) throw new IllegalArgumentException("a payload of %s is too large; %,d bytes is the most".formatted(text.strip(), Payload.BYTES_MAX));
    return (int) bytes;
  }
}
