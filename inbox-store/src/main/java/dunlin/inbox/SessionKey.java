package dunlin.inbox;

/** Whose session it is. */
record SessionKey(String tenant, String clientId) {
  SessionKey {
    // Both end by U+0000 in the keys of rows.
    if (tenant.isEmpty() || tenant.indexOf(0) >= 0 || clientId.indexOf(0) >= 0) {
      throw new IllegalArgumentException("not a tenant and client identifier: " + tenant + ", " + clientId);
    }
  }

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
}
