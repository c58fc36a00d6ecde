package dunlin.placement;

/** The outcome of a {@link PlacementCommand}. */
public sealed interface PlacementResult {
  /** The command's effect is in this version of the map, or was before. */
  record Accepted(long version) implements PlacementResult {}

  /** Changed nothing; the sentence tells the caller why. */
  record Refused(Reason reason, String sentence) implements PlacementResult {}

  /** Why a command is refused. */
  enum Reason {
    /** The cluster has another identity, or an identifier stands for something else already. */
    CONFLICT(1),
    UNKNOWN_CLUSTER(2),
    UNKNOWN_NODE(3),
    UNKNOWN_RANGE(4),
    UNKNOWN_OPERATION(5),
    /** The decision was based on an old epoch, configuration or state. */
    STALE(6),
    /** There is an operation on this range or node. */
    BUSY(7),
    /** The node cannot take a replica: down, draining, left, of another role, or it has one. */
    UNSUITABLE_NODE(8),
    /** The cut is outside of the range or at its edge. */
    UNSUITABLE_CUT(9),
    /** Keys would belong to two ranges. */
    OVERLAP(10),
    /** A range would be left with fewer replicas, or without a quorum that is up. */
    LOSES_QUORUM(11),
    /** A bound of the map. */
    FULL(12);

    private final int code;

    Reason(int code) {
      this.code = code;
    }

    int code() {
      return code;
    }

    static Reason of(int code) {
      for (var reason : values()) if (reason.code == code) return reason;
      throw new IllegalStateException("refusal for reason " + code);
    }
  }
}
