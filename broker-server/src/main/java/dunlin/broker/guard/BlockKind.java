package dunlin.broker.guard;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What is blocked. */
public enum BlockKind {
  /** An IPv4 address or an IPv6 /64 network. */
  ADDRESS,
  /** A client identifier of a tenant. */
  CLIENT;

  /** The names of all, in lower case. */
  public static final List<String> LABELS = Arrays.stream(values()).map(BlockKind::label).toList();

  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** @throws IllegalArgumentException if it is none of {@link #LABELS} */
  public static BlockKind of(String label) {
    return Arrays.stream(values())
        .filter(kind -> kind.label().equals(label))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("what is blocked is one of " + LABELS));
  }
}
