package dunlin.broker.access;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dunlin.model.QoS;
import dunlin.model.TopicFilter;

/** What policies have said lately, so that a busy topic is looked up and not decided again for each message. */
public final class Verdicts {
  /*
   * Owner: any thread.
   * Bounds: WEIGHT_MAX bytes, by estimate, of all questions together; those asked least are forgotten. A policy of new
   * rules is another key, so nothing has to be cleared: what is about old rules is not asked for any more and leaves.
   */
  private static final int WEIGHT_MAX = 32 * 1_024 * 1_024;
  private static final int ENTRY_BYTES = 192;

  /** A level of a rule that only one client has, which leaves with the last verdict about it. */
  private static final int LEVEL_BYTES = 256;

  private final Cache<Key, Boolean> topics;
  private final Cache<Key, Coverage> filters;

  private record Key(Policy policy, Access asked) {}

  public Verdicts() {
    topics = cache();
    filters = cache();
  }

  private static <V> Cache<Key, V> cache() {
    return Caffeine.newBuilder()
        .maximumWeight(WEIGHT_MAX / 2)
        .weigher((Key key, V _) -> ENTRY_BYTES + 2 * (key.asked().topic().length() + key.asked().group().length()) + LEVEL_BYTES * key.policy().ownLevels())
        .executor(Runnable::run)
        .build();
  }

  /** Whether an action on one topic name is allowed. */
  public boolean allows(Policy policy, Access asked) {
    return topics.get(new Key(policy, asked), key -> key.policy().decide(key.asked()).allowed());
  }

  /**
   * How much of a subscription is allowed: the filter itself, and what it brings. A shared one must be allowed as a whole,
   * because a member that may not receive a message would take it from the others.
   *
   * @param qos the maximum QoS of the subscription
   */
  public Coverage subscription(Policy policy, TopicFilter filter, QoS qos) {
    Coverage subscribes = coverage(policy, Access.subscribe(filter.filter(), qos, filter.group()));
    if (subscribes == Coverage.NONE) return Coverage.NONE;
    Coverage receives = coverage(policy, Access.receive(filter.filter(), qos, false));
    if (subscribes == Coverage.ALL && receives == Coverage.ALL) return Coverage.ALL;
    return filter.shared() ? Coverage.NONE : Coverage.PART;
  }

  private Coverage coverage(Policy policy, Access asked) {
    return filters.get(new Key(policy, asked), key -> key.policy().coverage(key.asked()));
  }

  /** Estimated number of remembered verdicts. */
  public long size() {
    return topics.estimatedSize() + filters.estimatedSize();
  }
}
