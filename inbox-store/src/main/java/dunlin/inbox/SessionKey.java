package dunlin.inbox;

/** Whose session it is. */
record SessionKey(String tenant, String clientId) implements Comparable<SessionKey> {
  static SessionKey of(SessionRef session) {
    return new SessionKey(session.tenant(), session.clientId());
  }

  /** The hash bucket, the same on every node and in every version: it decides where routes point. */
  int bucket(int shards) {
    int hash = 31 * tenant.hashCode() + clientId.hashCode();
    hash ^= hash >>> 16;
    hash *= 0x85ebca6b;
    hash ^= hash >>> 13;
    return Math.floorMod(hash, shards);
  }

  @Override
  public int compareTo(SessionKey other) {
    int byTenant = tenant.compareTo(other.tenant);
    return byTenant != 0 ? byTenant : clientId.compareTo(other.clientId);
  }
}
