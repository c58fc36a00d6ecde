package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import org.jspecify.annotations.Nullable;

/** Whom the fan-out hands messages to: a session with its client connected, as far as that concerns the fan-out. */
public interface Recipient {
  /*
   * Owner: its event loop; loop, clientId, load and mayTake are for any thread.
   * There is one implementation, and should be: these calls are made for each copy of each message.
   */
  /** The load of one that takes nothing more at the moment. */
  int REFUSES = Integer.MAX_VALUE;

  /** Where it lives. */
  Loop loop();

  String clientId();

  /** How much waits for the client, for choosing between members of a group; any thread, may be stale. */
  int load();

  /** Whether it would take a message of this QoS and size as a member of a group, as of its last round; any thread, may be stale. */
  boolean mayTake(QoS qos, int size);

  /** Offers a message that one plain subscription matched. */
  void offer(Publication message, SubscriptionOptions options, int[] identifiers);

  /** Offers a message as a member of a group; answers whether it takes it. */
  boolean offerShared(Publication message, Subscriber member);

  /** Notes one of several subscriptions that a message matched; true the first time, until {@link #takeMerged}. */
  boolean merge(Publication message, Subscriber subscriber);

  /** The subscription identifiers of what {@link #takeMerged} has taken. */
  int[] mergedIdentifiers();

  /** What the merged subscriptions ask for together, or null when there is none; nothing is merged any more. */
  @Nullable SubscriptionOptions takeMerged();
}
