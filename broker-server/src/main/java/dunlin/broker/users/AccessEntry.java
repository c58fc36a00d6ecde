package dunlin.broker.users;

import java.util.List;

/** One row of the range: a user, a role, a ban or a tenant. */
public sealed interface AccessEntry {
  RowKey key();

  /** What a row is about. The codes are those of keys on disk. */
  enum Kind {
    USER(1),
    ROLE(2),
    BANNED_CLIENT(3),
    BANNED_USER(4),
    BANNED_ADDRESS(5),
    TENANT(6);

    private final int code;

    Kind(int code) {
      this.code = code;
    }

    int code() {
      return code;
    }

    boolean isBan() {
      return switch (this) {
        case USER, ROLE, TENANT -> false;
        case BANNED_CLIENT, BANNED_USER, BANNED_ADDRESS -> true;
      };
    }

    static Kind of(int code) {
      for (Kind each : values()) if (each.code == code) return each;
      throw new IllegalStateException("kind " + code + " of an access row");
    }
  }

  /** Identifies a row. Keys are in the order of their kinds, and then of their names. */
  record RowKey(Kind kind, String name) implements Comparable<RowKey> {
    @Override
    public int compareTo(RowKey other) {
      int order = kind.compareTo(other.kind);
      return order != 0 ? order : name.compareTo(other.name);
    }
  }

  /**
   * A user.
   *
   * @param name normalized as names in a password file are
   * @param verifier what is kept instead of the password, as text; empty when the user has none and so cannot log in by one
   * @param roles names of roles, in ascending order
   * @param enabled whether clients of the user may connect
   */
  record User(String name, String verifier, List<String> roles, boolean enabled) implements AccessEntry {
    public User {
      roles = List.copyOf(roles);
    }

    @Override
    public RowKey key() {
      return new RowKey(Kind.USER, name);
    }

    /** Without the verifier, which is for no log. */
    @Override
    public String toString() {
      return "User[name=" + name + ", roles=" + roles + ", enabled=" + enabled + ']';
    }
  }

  /**
   * A role.
   *
   * @param rules as in a file of rules, but without whom they are about: {@code allow publish devices/%c/up}
   */
  record Role(String name, List<String> rules) implements AccessEntry {
    public Role {
      rules = List.copyOf(rules);
    }

    @Override
    public RowKey key() {
      return new RowKey(Kind.ROLE, name);
    }
  }

  /**
   * A tenant.
   *
   * @param limits as texts, such as {@code connections=1000}
   */
  record Tenant(String name, State state, List<String> limits) implements AccessEntry {
    /** What a tenant's clients may do. The codes are those on disk. */
    public enum State {
      /** They may connect. */
      ACTIVE(1),
      /** They may not. All that the tenant has stays. */
      SUSPENDED(2),
      /** They may not, and what the tenant has is being deleted; then the record is, too. */
      DELETING(3);

      private final int code;

      State(int code) {
        this.code = code;
      }

      int code() {
        return code;
      }

      static State of(int code) {
        for (State each : values()) if (each.code == code) return each;
        throw new IllegalStateException("state " + code + " of a tenant");
      }
    }

    public Tenant {
      limits = List.copyOf(limits);
    }

    @Override
    public RowKey key() {
      return new RowKey(Kind.TENANT, name);
    }
  }

  /**
   * Clients that may not connect.
   *
   * @param kind what is banned
   * @param value a client identifier, a user name, or an address or network in its usual form
   * @param until milliseconds of the epoch; 0 for no end
   * @param reason for operators; clients do not see it
   */
  record Ban(Kind kind, String value, long until, String reason) implements AccessEntry {
    public Ban {
      if (!kind.isBan()) throw new IllegalArgumentException("a ban of kind " + kind);
    }

    @Override
    public RowKey key() {
      return new RowKey(kind, value);
    }

    boolean hasEnded(long nowMillis) {
      return until != 0 && until <= nowMillis;
    }
  }
}
