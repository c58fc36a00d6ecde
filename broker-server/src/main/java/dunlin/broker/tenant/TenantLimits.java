package dunlin.broker.tenant;

import dunlin.runtime.LogText;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Limits of a tenant, as far as they are given. As texts they are {@code connections=1000}, {@code packet=64KiB}, {@code wildcards=no}; {@code none} as a value
 * lifts a limit that would otherwise be in force.
 */
public record TenantLimits(Map<TenantLimit, Long> values) {
  /** The value of a limit that is lifted. */
  public static final long NONE = Long.MAX_VALUE;

  private static final String LIFTED = "none";
  private static final Pattern NUMBER = Pattern.compile("([0-9]{1,12})(|KiB|MiB|GiB)");

  public TenantLimits {
    values = Map.copyOf(values);
  }

  /** No limits are given. */
  public static TenantLimits none() {
    return new TenantLimits(Map.of());
  }

  /**
   * Reads texts.
   *
   * @throws IllegalArgumentException when one of them is wrong, with a sentence about it
   */
  public static TenantLimits parse(List<String> texts) {
    Map<TenantLimit, Long> values = new EnumMap<>(TenantLimit.class);
    for (String text : texts) {
      int sign = text.indexOf('=');
      if (sign < 0) throw new IllegalArgumentException("\"%s\" is no limit, which is written as connections=1000".formatted(LogText.escaped(text)));
      TenantLimit limit = named(text.substring(0, sign).strip());
      if (values.put(limit, value(limit, text.substring(sign + 1).strip())) != null) {
        throw new IllegalArgumentException("the limit \"%s\" is given twice".formatted(limit.label()));
      }
    }
    return new TenantLimits(values);
  }

  private static TenantLimit named(String label) {
    List<String> labels = new ArrayList<>();
    for (TenantLimit each : TenantLimit.values()) {
      if (each.label().equals(label)) return each;
      labels.add(each.label());
    }
    throw new IllegalArgumentException("there is no limit \"%s\"; there are %s".formatted(LogText.escaped(label), String.join(", ", labels)));
  }

  private static long value(TenantLimit limit, String text) {
    if (text.equals(LIFTED)) return NONE;
    if (limit.form() == TenantLimit.Form.WHETHER) {
      return switch (text) {
        case "yes" -> 1;
        case "no" -> 0;
        default -> throw wrong(limit, text, "yes or no");
      };
    }
    Matcher matcher = NUMBER.matcher(text);
    String allowed = "a number from %s to %s, or none".formatted(written(limit, limit.min()), written(limit, limit.max()));
    if (!matcher.matches() || (limit.form() == TenantLimit.Form.NUMBER && !matcher.group(2).isEmpty())) throw wrong(limit, text, allowed);
    int shift =
        switch (matcher.group(2)) {
          case "KiB" -> 10;
          case "MiB" -> 20;
          case "GiB" -> 30;
          default -> 0;
        };
    long number = Long.parseLong(matcher.group(1));
    if (number > (limit.max() >> shift) || (number << shift) < limit.min()) throw wrong(limit, text, allowed);
    return number << shift;
  }

  private static IllegalArgumentException wrong(TenantLimit limit, String text, String allowed) {
    return new IllegalArgumentException("the limit \"%s\" is \"%s\", but must be %s".formatted(limit.label(), LogText.escaped(text), allowed));
  }

  /** These, and the others' where these have none. */
  TenantLimits over(TenantLimits others) {
    if (values.isEmpty()) return others;
    Map<TenantLimit, Long> all = new EnumMap<>(TenantLimit.class);
    all.putAll(others.values());
    all.putAll(values);
    return new TenantLimits(all);
  }

  /** The most that is allowed; {@link #NONE} when it is not limited. */
  public long max(TenantLimit limit) {
    return values.getOrDefault(limit, NONE);
  }

  /** As texts, in the order of the limits. */
  public List<String> texts() {
    List<String> texts = new ArrayList<>();
    for (TenantLimit each : TenantLimit.values()) {
      Long value = values.get(each);
      if (value != null) texts.add(each.label() + '=' + written(each, value));
    }
    return texts;
  }

  private static String written(TenantLimit limit, long value) {
    if (value == NONE) return LIFTED;
    return switch (limit.form()) {
      case NUMBER -> Long.toString(value);
      case WHETHER -> value == 0 ? "no" : "yes";
      case BYTES -> bytes(value);
    };
  }

  private static String bytes(long value) {
    if (value % (1L << 30) == 0) return (value >> 30) + "GiB";
    if (value % (1L << 20) == 0) return (value >> 20) + "MiB";
    return value % (1L << 10) == 0 ? (value >> 10) + "KiB" : Long.toString(value);
  }
}
