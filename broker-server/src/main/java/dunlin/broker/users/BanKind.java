package dunlin.broker.users;

import dunlin.broker.users.AccessEntry.Kind;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What a ban is about. */
public enum BanKind {
  CLIENT(Kind.BANNED_CLIENT),
  USER(Kind.BANNED_USER),
  /** An address or a network. */
  ADDRESS(Kind.BANNED_ADDRESS);

  /** The names of all, in lower case. */
  public static final List<String> LABELS = Arrays.stream(values()).map(BanKind::label).toList();

  private final Kind kind;

  BanKind(Kind kind) {
    this.kind = kind;
  }

  Kind kind() {
    return kind;
  }

  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** What a ban is about. */
  public static BanKind of(AccessEntry.Ban ban) {
    for (BanKind each : values()) if (each.kind == ban.kind()) return each;
    throw new IllegalStateException("no ban: " + ban.kind());
  }

  /** What clients and operators read. */
  public String word() {
    return switch (this) {
      case CLIENT -> "client identifier";
      case USER -> "user name";
      case ADDRESS -> "address";
    };
  }

  /** @throws IllegalArgumentException if it is none of {@link #LABELS} */
  public static BanKind of(String label) {
    return valueOf(label.toUpperCase(Locale.ROOT));
  }
}
