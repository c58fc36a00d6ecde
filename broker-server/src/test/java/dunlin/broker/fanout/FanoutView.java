package dunlin.broker.fanout;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.TopicFilter;
import java.util.Objects;

/** Access to the fan-out for tests of other packages. */
public final class FanoutView {
  private FanoutView() {}

  /** A topic filter that is not in any table. */
  public static FilterHandle handle(String filter, int loops) {
    return new FilterHandle(Publisher.DEFAULT_TENANT, TopicFilter.parse(filter).orElseThrow(), loops, loops);
  }

  public static Recipient recipientOf(Subscriber subscriber) {
    return subscriber.session;
  }

  /** Hands a message to the subscribers of a filter by its number; on their loop. */
  public static boolean deliver(LoopFanout loop, Publication message, int filter) {
    return loop.deliverToSubscribers(message, Objects.requireNonNull(loop.routes().byNumber(filter)), null);
  }
}
