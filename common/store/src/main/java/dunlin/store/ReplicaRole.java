package dunlin.store;

/** The role of this node's replica in its range. */
public enum ReplicaRole {
  LEADER,
  FOLLOWER,
  /** Asks the others for their votes. */
  CANDIDATE,
  /** Receives the log and has no vote. */
  LISTENER,
  /** Is not a peer of the range: not yet, or not any more. */
  OUTSIDE,
  /** Its files were damaged and have been quarantined, or were lost: the range must remove it and add it again. */
  QUARANTINED,
  /** Has failed or is closed. */
  STOPPED
}
