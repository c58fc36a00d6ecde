package dunlin.store;

/** The part that this node's replica plays in its range. */
public enum ReplicaRole {
  LEADER,
  FOLLOWER,
  /** Asks the others for their votes. */
  CANDIDATE,
  /** Gets the log and has no vote. */
  LISTENER,
  /** Is none of the range's peers: not yet, or not any more. */
  OUTSIDE,
  /** Its files were damaged and have been put aside, or they were lost: the range must take it out and in again. */
  QUARANTINED,
  /** Has failed or is closed. */
  STOPPED
}
