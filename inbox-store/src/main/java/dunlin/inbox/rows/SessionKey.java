package dunlin.inbox.rows;

import dunlin.inbox.SessionRef;

/** Whose session it is. Comparable, because clients can choose identifiers of one hash code, and it is a key of hash tables. */
public record SessionKey(String tenant, String clientId) implements Comparable<SessionKey> {
  public SessionKey {
    // Both end by U+0000 in the keys of rows.
    if (tenant.isEmpty() || tenant.indexOf(0) >= 0 || clientId.indexOf(0) >= 0) {
      throw new IllegalArgumentException("not a tenant and client identifier: " + tenant + ", " + clientId);
    }
  }

  public static SessionKey of(SessionRef session) {
    return new SessionKey(session.tenant(), session.clientId());
  }

  @Override
  public int compareTo(SessionKey other) {
    int byClient = clientId.compareTo(other.clientId);
    return byClient != 0 ? byClient : tenant.compareTo(other.tenant);
  }

  /** The shard, the same on every node and in every version: it decides where routes point. */
  public int shard(int shards) {
    return shard(shards, tenant, clientId);
  }

  public static int shard(int shards, String tenant, String name) {
    int hash = 31 * tenant.hashCode() + name.hashCode();
    hash ^= hash >>> 16;
    hash *= 0x85ebca6b;
    hash ^= hash >>> 13;
    return Math.floorMod(hash, shards);
  }
}
