package dunlin.broker.session;

import dunlin.broker.fanout.Fanout;
import dunlin.broker.fanout.LoopFanout;
import dunlin.broker.limit.Budget;
import dunlin.broker.loop.Loop;
import dunlin.model.TopicFilter;

/** What the sessions of one event loop share. */
public final class LoopSessions {
  /*
   * Owner: the event loop; what is final may be read by all.
   */
  private final Loop loop;
  private final LoopFanout fanout;
  private final Fanout everywhere;
  private final SubscribeRules rules;
  private final MessageMemory messageMemory;
  private final Budget.Share subscriptionMemory;
  private final Budget.Share requestMemory;

  /** Subscriptions whose retained messages have not all been read. */
  private int retainedReads;

  private int readsAgain;

  public LoopSessions(LoopFanout fanout, Fanout everywhere, SubscribeRules rules) {
    this.loop = fanout.loop();
    this.fanout = fanout;
    this.everywhere = everywhere;
    this.rules = rules;
    this.messageMemory = new MessageMemory(loop, loop.budget().outgoing().share());
    this.subscriptionMemory = loop.budget().subscriptions().share();
    this.requestMemory = loop.budget().requests().share();
  }

  public Loop loop() {
    return loop;
  }

  public LoopFanout fanout() {
    return fanout;
  }

  /** The event loop, maybe another one, that keeps a filter's route and the members of its group. */
  LoopFanout ownerOf(String tenant, TopicFilter filter) {
    return everywhere.ownerOf(tenant, filter);
  }

  /** Which topic filters may be subscribed to, where nothing else is said of a tenant. */
  public SubscribeRules rules() {
    return rules;
  }

  public MessageMemory messageMemory() {
    return messageMemory;
  }

  Budget.Share subscriptionMemory() {
    return subscriptionMemory;
  }

  /** The memory of SUBSCRIBE and UNSUBSCRIBE packets that are not answered. */
  Budget.Share requestMemory() {
    return requestMemory;
  }

  /** Counts subscriptions whose retained messages are to be read. */
  void retainedReads(int more) {
    retainedReads += more;
  }

  /** Subscriptions whose retained messages have not all been read; any thread, may be stale. */
  public int retainedReads() {
    return retainedReads;
  }

  /** Counts inboxes that are being read again. */
  void readsAgain(int more) {
    readsAgain += more;
  }

  /** Inboxes that are being read again. */
  public int readsAgain() {
    return readsAgain;
  }
}
