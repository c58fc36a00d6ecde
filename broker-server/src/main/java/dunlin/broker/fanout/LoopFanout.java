package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.dist.DistClient;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.runtime.LogText;
import dunlin.transport.Acknowledgement;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/** The last step of the fan-out: from one event loop to its sessions. */
public final class LoopFanout {
  /*
   * Owner: the event loop.
   * Bounds: those of its parts; merged is empty except while a message is handed out.
   * Failure: if a bug keeps a message from a session, that is logged and counted, other sessions get it, and the
   * publisher of QoS 1 and 2 gets an error.
   */
  private final Loop loop;
  private final RouteTable routes;
  private final GroupDelivery groups;
  private final WideFanout wide;
  private final ArrayList<Recipient> merged = new ArrayList<>();

  /** Receives the single copy for a session whose subscriptions were merged. */
  interface MergedCopies {
    void copy(Recipient session, SubscriptionOptions options, int[] identifiers);
  }

  LoopFanout(Loop loop, ShardId shard, long incarnation) {
    DistClient dist = loop.tiers().dist();
    this.loop = loop;
    this.groups = new GroupDelivery(loop, System::nanoTime);
    this.wide = new WideFanout(this, loop.settings().lanes().fanoutSlice());
    this.routes = new RouteTable(loop, loop.settings().lanes().count(), shard, incarnation, dist);
  }

  public Loop loop() {
    return loop;
  }

  public RouteTable routes() {
    return routes;
  }

  public GroupDelivery groups() {
    return groups;
  }

  public WideFanout wide() {
    return wide;
  }

  /** Hands a message to its target; see {@link Loop.Resident#arrive}. */
  public boolean arrive(Publication message, Object target, @Nullable Acknowledgement acknowledgement, Loop from) {
    switch (target) {
      case FilterHandle filter -> {
        if (!deliverToSubscribers(message, filter, acknowledgement)) {
          wide.add(message, new FilterHandle[] {filter}, acknowledgement, from);
          return false;
        }
      }
      case FilterHandle[] filters -> {
        if (!deliverToSubscribers(message, filters, filters.length, acknowledgement)) {
          wide.add(message, filters, acknowledgement, from);
          return false;
        }
      }
      case GroupCopy copy -> groups.arrived(copy);
      default -> throw new IllegalStateException("a message for " + target);
    }
    return true;
  }

  /**
   * Hands a message to all subscribers of one filter on this loop; false if it has to wait in {@link WideFanout}.
   *
   * @param acknowledgement the message's acknowledgement, which still expects an answer from the caller; null for none
   */
  boolean deliverToSubscribers(Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement) {
    if (wide.takes(filter)) return false;
    SubscriberList subscribers = filter.on(loop.index());
    if (subscribers == null) return true;
    for (int i = 0; i < subscribers.size(); i++) {
      Subscriber subscriber = subscribers.get(i);
      try {
        subscriber.session.offer(message, subscriber.options(), subscriber.identifiers());
      } catch (RuntimeException | AssertionError e) {
        notDelivered(subscriber.session, acknowledgement, e);
      }
    }
    return true;
  }

  /**
   * Hands a message that matched several filters to their subscribers on this loop: each session gets one copy, with
   * the highest QoS and all identifiers [MQTT-3.3.4-2, -3]; false if it has to wait in {@link WideFanout}.
   *
   * @param acknowledgement as above
   */
  boolean deliverToSubscribers(
      Publication message, FilterHandle[] filters, int count, @Nullable Acknowledgement acknowledgement) {
    if (wide.takes(filters, count)) return false;
    merge(
        message,
        filters,
        count,
        acknowledgement,
        (session, options, identifiers) -> {
          try {
            session.offer(message, options, identifiers);
          } catch (RuntimeException | AssertionError e) {
            notDelivered(session, acknowledgement, e);
          }
        });
    return true;
  }

  /**
   * Finds the sessions on this loop that a message matched by several filters, and merges the subscriptions of each.
   * Whatever happens, no state is left for the next message.
   */
  void merge(
      Publication message, FilterHandle[] filters, int count, @Nullable Acknowledgement acknowledgement, MergedCopies copies) {
    assert merged.isEmpty() : "merging while another message is";
    int taken = 0;
    try {
      for (int i = 0; i < count; i++) merge(message, filters[i], acknowledgement);
      while (taken < merged.size()) {
        Recipient session = merged.get(taken++);
        SubscriptionOptions options = session.takeMerged();
        if (options != null) copies.copy(session, options, session.mergedIdentifiers());
      }
    } finally {
      while (taken < merged.size()) merged.get(taken++).takeMerged();
      merged.clear();
    }
  }

  private void merge(Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement) {
    SubscriberList subscribers = filter.on(loop.index());
    if (subscribers == null) return;
    for (int i = 0; i < subscribers.size(); i++) {
      Subscriber subscriber = subscribers.get(i);
      try {
        if (subscriber.session.merge(message, subscriber)) merged.add(subscriber.session);
      } catch (RuntimeException | AssertionError e) {
        notDelivered(subscriber.session, acknowledgement, e);
      }
    }
  }

  /** Reports that a bug kept a message from a session: the other sessions get it, and its publisher gets an error. */
  void notDelivered(Recipient session, @Nullable Acknowledgement acknowledgement, Throwable fault) {
    loop.meters().unexpected("a message could not be delivered to " + LogText.quoted(session.clientId()), fault);
    if (acknowledgement == null) return;
    acknowledgement.expect();
    acknowledgement.answer(ReasonCode.UNSPECIFIED_ERROR);
  }
}
