package dunlin.store;

/** The role of this node's replica in its range. */
public enum ReplicaRole {
  LEADER,
  FOLLOWER,
  /** Asks the others for their votes. */
  CANDIDATE,
  /** Is not a peer of the range: its leader has not added it yet, or has removed it. */
  OUTSIDE,
  /** Its files were damaged and have been quarantined, or were lost: the range must remove it and add it again. */
  QUARANTINED,
  /** Has failed or is closed. */
  STOPPED
}
