package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import org.jspecify.annotations.Nullable;

/** The fan-out's view of a session whose client is connected, to which it hands messages. */
public interface Recipient {
  /*
   * Owner: its event loop; any thread may call loop, clientId, load and mayTake. There should be only one
   * implementation, because these methods are called for each copy of each message.
   */
  /** The load of a session that takes no more messages at the moment. */
  int REFUSES = Integer.MAX_VALUE;

  /** The event loop of the session. */
  Loop loop();

  String clientId();

  /** How much waits for the client, to choose between members of a group; any thread, may be stale. */
  int load();

  /** Whether it would take a message of this QoS and size as a member of a group, as of its last round; any thread, may be stale. */
  boolean mayTake(QoS qos, int size);

  /** Notes its load and its room as they are now, for {@link #load} and {@link #mayTake}. */
  void updateLoad();

  /** Offers a message that one non-shared subscription matched. */
  void offer(Publication message, SubscriptionOptions options, int[] identifiers);

  /** Offers a message as a member of a group; answers whether it takes it. */
  boolean offerShared(Publication message, Subscriber member);

  /** Merges one of several subscriptions that a message matched; true the first time, until {@link #takeMerged}. */
  boolean merge(Publication message, Subscriber subscriber);

  /** The subscription identifiers of the last {@link #takeMerged}. */
  int[] mergedIdentifiers();

  /** Takes the combined options of the merged subscriptions, or null if there are none. */
  @Nullable SubscriptionOptions takeMerged();
}
