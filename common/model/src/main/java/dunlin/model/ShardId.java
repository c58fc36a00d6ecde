package dunlin.model;

/**
 * A shard: a place that delivers messages. It is a frontend with its connected sessions, or a part of the durable
 * sessions, by a hash of tenant and client identifier.
 *
 * @param kind the kind of shard
 * @param name the frontend's node id, or the number of the part
 */
public record ShardId(Kind kind, String name) implements Comparable<ShardId> {
  /** The kinds of shards. */
  public enum Kind {
    FRONTEND(1),
    INBOX(2);

    private final int code;

    Kind(int code) {
      this.code = code;
    }

    /** The byte for this kind in stored keys. */
    public int code() {
      return code;
    }

    /**
     * The kind with this stored code.
     *
     * @throws IllegalStateException when there is none
     */
    public static Kind of(int code) {
      for (Kind kind : values()) if (kind.code == code) return kind;
      throw new IllegalStateException("shard kind " + code);
    }
  }

  public static ShardId frontend(String nodeId) {
    return new ShardId(Kind.FRONTEND, nodeId);
  }

  public static ShardId inbox(int number) {
    return new ShardId(Kind.INBOX, Integer.toString(number));
  }

  /** The number of an inbox shard. */
  public int number() {
    if (kind != Kind.INBOX) throw new IllegalStateException(this + " has no number");
    return Integer.parseInt(name);
  }

  @Override
  public int compareTo(ShardId other) {
    int byKind = kind.compareTo(other.kind);
    return byKind != 0 ? byKind : name.compareTo(other.name);
  }

  @Override
  public String toString() {
    return kind.name().toLowerCase(java.util.Locale.ROOT) + ':' + name;
  }
}
