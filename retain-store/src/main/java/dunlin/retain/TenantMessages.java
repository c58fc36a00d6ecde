package dunlin.retain;

import dunlin.retain.RetainRangeClient.Held;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** What each tenant has in a range of retained messages, and what its messages on their way there will add. */
final class TenantMessages {
  /*
   * A message whose tenant has a limit claims what it may add, by its topic, from before it is proposed until it is answered. Several messages of one topic claim it once.
   * What has been applied takes the place of the claim in one step. So a tenant never exceeds its limit by messages on their way, and none is refused that would have
   * fitted beside them, unless it depends on a removal that has not been answered.
   *
   * Owner: the range's applying thread changes what is there. Any thread claims and reads. A tenant's numbers are under the lock of its entry.
   * Bounds: an entry for each tenant with a message, and a claim for each topic with messages of a limited tenant on their way: those are commands in the range's queues.
   * Failure: open() counts the rows again. Claims end with their commands, whatever becomes of these.
   */
  /** What all of a tenant's topics have together. An entry is there while it has or claims something. */
  private static final class Tenant {
    long messages;
    long bytes;
    long claimedMessages;
    long claimedBytes;

    /** By key; null while there are none, as for a tenant without a limit. */
    @Nullable TreeMap<byte[], Claim> claims;

    boolean isOver() {
      return messages == 0 && claims == null;
    }

    @Nullable Claim claim(byte[] key) {
      return claims == null ? null : claims.get(key);
    }

    /** Counts what a claim adds (1) or no longer adds (-1). */
    void count(Claim claim, int sign) {
      claimedMessages += sign * claim.moreMessages();
      claimedBytes += sign * claim.moreBytes();
    }

    /** Notes what a topic has now. */
    void has(byte[] key, long size) {
      Claim claim = claim(key);
      if (claim == null) return;
      count(claim, -1);
      claim.has = size;
      count(claim, 1);
    }
  }

  /** The messages of one topic that are on their way. */
  private static final class Claim {
    int messages;

    /** Bytes of the largest of them with its key, and of what the topic has now; 0 for nothing. */
    long most;

    long has;

    long moreMessages() {
      return has == 0 ? 1 : 0;
    }

    long moreBytes() {
      return Math.max(0, most - has);
    }
  }

  private final ConcurrentHashMap<String, Tenant> tenants = new ConcurrentHashMap<>();

  /** What a tenant has or will have. Any thread. */
  Held of(String tenant) {
    var held = new Held[] {Held.NONE};
    tenants.computeIfPresent(
        tenant,
        (_, present) -> {
          held[0] = new Held(present.messages + present.claimedMessages, present.bytes + present.claimedBytes);
          return present;
        });
    return held[0];
  }

  // ----------------------------------------------------------------------------------------------------------------- the applying thread

  /**
   * Counts a change of a topic.
   *
   * @param before bytes of its message and key, 0 for none
   * @param after the same, afterwards
   */
  void changed(String tenant, byte[] key, long before, long after) {
    if (before == after) return;
    tenants.compute(
        tenant,
        (_, present) -> {
          Tenant now = present == null ? new Tenant() : present;
          now.messages += (after > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
          now.bytes += after - before;
          now.has(key, after);
          return now.isOver() ? null : now;
        });
  }

  /** Counts rows, before they are there for others. */
  static final class Count {
    private final Map<String, Held> all = new HashMap<>();
    private byte[] prefix = new byte[0];
    private String tenant = "";
    private long messages;
    private long bytes;

    /** Rows come in the order of their keys, so those of a tenant stand together. */
    void add(byte[] key, long size) {
      if (messages == 0 || !TopicKeys.begins(key, prefix)) {
        end();
        tenant = TopicKeys.tenant(key);
        prefix = TopicKeys.prefix(tenant);
      }
      messages++;
      bytes += size;
    }

    private void end() {
      if (messages > 0) all.put(tenant, new Held(messages, bytes));
      messages = 0;
      bytes = 0;
    }
  }

  /**
   * Replaces what is there by what was counted. Claims stay.
   *
   * @param sizes bytes of a topic's message and key, 0 for none
   */
  void replace(Count count, ToLongFunction<byte[]> sizes) {
    count.end();
    tenants.keySet().forEach(tenant -> set(tenant, count.all.getOrDefault(tenant, Held.NONE), sizes));
    count.all.forEach((tenant, held) -> set(tenant, held, sizes));
  }

  private void set(String tenant, Held held, ToLongFunction<byte[]> sizes) {
    tenants.compute(
        tenant,
        (_, present) -> {
          Tenant now = present == null ? new Tenant() : present;
          now.messages = held.messages();
          now.bytes = held.bytes();
          if (now.claims != null) now.claims.keySet().forEach(key -> now.has(key, sizes.applyAsLong(key)));
          return now.isOver() ? null : now;
        });
  }

  // -------------------------------------------------------------------------------------------------------------------------- any thread

  /** The limit that a message does not fit into. */
  enum Full {
    MESSAGES,
    BYTES
  }

  /**
   * Claims what a message may add to its topic, until {@link #release}.
   *
   * @param size bytes of the message and its key
   * @param replaces whether it takes the place of the topic's present message; if not, it adds nothing where there is one
   * @param sizes bytes of a topic's message and key, 0 for none; any thread
   * @param room what the tenant may have in this range
   * @return null when it fits; otherwise nothing is claimed
   */
  @Nullable Full claim(String tenant, byte[] key, long size, boolean replaces, ToLongFunction<byte[]> sizes, Held room) {
    var full = new @Nullable Full[1];
    tenants.compute(
        tenant,
        (_, present) -> {
          Tenant now = present == null ? new Tenant() : present;
          Claim before = now.claim(key);
          Claim claim = new Claim();
          claim.has = sizes.applyAsLong(key);
          claim.most = replaces || claim.has == 0 ? size : claim.has;
          if (before != null) {
            claim.messages = before.messages;
            claim.most = Math.max(claim.most, before.most);
            now.count(before, -1);
          }
          if (claim.moreMessages() > 0 && now.messages + now.claimedMessages >= room.messages()) full[0] = Full.MESSAGES;
          else if (claim.moreBytes() > 0 && now.bytes + now.claimedBytes + claim.moreBytes() > room.bytes()) full[0] = Full.BYTES;
          if (full[0] == null) {
            claim.messages++;
            if (now.claims == null) now.claims = new TreeMap<>(Arrays::compareUnsigned);
            now.claims.put(key, claim);
            now.count(claim, 1);
          } else if (before != null) {
            now.count(before, 1);
          }
          return now.isOver() ? null : now;
        });
    return full[0];
  }

  /** Ends the claim of a message that was answered or not accepted. */
  void release(String tenant, byte[] key) {
    tenants.computeIfPresent(
        tenant,
        (_, now) -> {
          Claim claim = now.claim(key);
          if (claim == null || now.claims == null) throw new IllegalStateException("a message that claims nothing");
          if (--claim.messages == 0) {
            now.count(claim, -1);
            now.claims.remove(key);
            if (now.claims.isEmpty()) now.claims = null;
          }
          return now.isOver() ? null : now;
        });
  }
}
