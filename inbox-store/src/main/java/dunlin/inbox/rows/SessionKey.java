package dunlin.inbox.rows;

import dunlin.inbox.SessionRef;

/**
 * Identifies a session. It is comparable because it is a key of hash tables, and clients can choose identifiers with
 * the same hash code.
 */
public record SessionKey(String tenant, String clientId) implements Comparable<SessionKey> {
  public SessionKey {
    // In the keys of rows, both are terminated by U+0000.
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

  /** The shard of the session. It is the same on every node and in every version, because routes point to it. */
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
