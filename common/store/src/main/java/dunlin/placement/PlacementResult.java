package dunlin.placement;

/** What became of a {@link PlacementCommand}. */
public sealed interface PlacementResult {
  /** Holds as of this version of the map, also when it did before. */
  record Accepted(long version) implements PlacementResult {}

  /** Changed nothing; the sentence says why to whoever asked. */
  record Refused(Reason reason, String sentence) implements PlacementResult {}

  /** Why a command is refused. */
  enum Reason {
    /** The cluster has another identity, or an identifier stands for something else already. */
    CONFLICT,
    UNKNOWN_CLUSTER,
    UNKNOWN_NODE,
    UNKNOWN_RANGE,
    UNKNOWN_OPERATION,
    /** Decided on what is no longer so: epoch, configuration, state. */
    STALE,
    /** There is an operation on this range or node. */
    BUSY,
    /** The node cannot take a replica: down, draining, left, of another role, or it has one. */
    UNSUITABLE_NODE,
    /** The cut is outside of the range or at its edge. */
    UNSUITABLE_CUT,
    /** Keys would belong to two ranges. */
    OVERLAP,
    /** Would leave a range with fewer replicas, or without a majority that is up. */
    LOSES_QUORUM,
    /** A bound of the map. */
    FULL
  }
}
