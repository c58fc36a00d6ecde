package dunlin.broker.session;

import dunlin.broker.auth.Refusal;
import dunlin.broker.codec.Packet;
import dunlin.broker.codec.PacketDecoder;
import dunlin.broker.codec.RequestedSubscription;
import dunlin.broker.fanout.FilterHandle;
import dunlin.broker.fanout.LoopFanout;
import dunlin.broker.fanout.RouteTable;
import dunlin.broker.fanout.ShareGroup;
import dunlin.broker.fanout.Subscriber;
import dunlin.broker.loop.Loop;
import dunlin.dist.route.RouteQuotaException;
import dunlin.inbox.InboxClient;
import dunlin.inbox.QuotaExceededException;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.runtime.FirstRows;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The subscriptions of one live session; MQTT 5, sections 3.8 to 3.11.
 *
 * <p>Subscriptions of a session without expiry are kept here and in the filters' lists; those of a durable session are
 * kept in the session tier, and only their options are kept here. SUBACK is sent when every publish that is accepted
 * from then on is matched against the subscription.
 *
 * <p>Packets of one connection take effect in their order. Several SUBSCRIBEs may be in progress at a time, or several
 * UNSUBSCRIBEs. An UNSUBSCRIBE after a SUBSCRIBE, a SUBSCRIBE after an UNSUBSCRIBE, and a PUBLISH after either wait
 * until the earlier packet is answered; the client is not read from until then.
 *
 * <p>The class is long: both packets, for both kinds of sessions, change the same entries, and their answers share one order.
 */
public final class Subscriptions {
  /*
   * Owner: the connection's event loop. A filter's handle is acquired and released on the loop that the filter hashes
   *   to, which also keeps the members of groups; the entry here records the progress of that.
   * Bounds: the settings for subscriptions of a session and for the bytes of their filters, and the node's budget for
   * those of all clients; a further one is refused with 0x97, as is a whole SUBSCRIBE beyond the node's budget for requests. The invalid filters of one packet count as one violation,
   * the first one.
   */
  private static final int SUBSCRIBE = 8;
  private static final int UNSUBSCRIBE = 10;

  private final LiveSession session;
  private final Loop loop;
  private final SubscribeRules rules;

  /**
   * Most clients have at most one subscription, which needs no hash table; changed by {@link #put} and {@link #remove}.
   */
  private Map<TopicFilter, Entry> entries = Map.of();

  /** Total number of characters of all filters. */
  private int filterChars;

  /** Packet identifiers of unanswered SUBSCRIBE and UNSUBSCRIBE packets. */
  private @Nullable Set<Integer> underWay;

  private int subscribesUnderWay;
  private int unsubscribesUnderWay;

  /**
   * One subscription. The subscriber is set together with the handle; before that, and always for a durable session, it
   * is null.
   */
  static final class Entry {
    /** Until all publishes find the subscription; after that, and always for a durable session, it is null. */
    @Nullable Routing routing;

    SubscriptionOptions options;
    @Nullable Subscriber subscriber;
    boolean removed;

    /** For a durable session: whether the session tier has certainly stored it. */
    boolean stored;

    /** For a durable session: number of SUBSCRIBE packets in progress that store it. */
    int stores;

    Entry(SubscriptionOptions options) {
      this.options = options;
    }
  }

  Subscriptions(LiveSession session, List<InboxClient.Subscription> stored) {
    this.session = session;
    this.loop = session.loop();
    this.rules = session.connection().subscribeRules();
    for (InboxClient.Subscription subscription : stored) {
      Entry entry = new Entry(subscription.options());
      entry.stored = true;
      put(subscription.filter(), entry);
    }
  }

  /** Adds a new subscription. */
  private void put(TopicFilter filter, Entry entry) {
    filterChars += filter.text().length();
    session.home().subscriptionMemory().add(RouteTable.memoryOf(filter));
    if (entries.isEmpty()) {
      entries = Map.of(filter, entry);
      return;
    }
    if (entries.size() == 1) entries = new HashMap<>(entries);
    entries.put(filter, entry);
  }

  private @Nullable Entry remove(TopicFilter filter) {
    Entry present = entries.get(filter);
    if (present == null) return null;
    filterChars -= filter.text().length();
    session.home().subscriptionMemory().add(-RouteTable.memoryOf(filter));
    if (!session.durable()) rules.giveBackToTenant(1);
    if (entries.size() == 1) entries = Map.of();
    else entries.remove(filter);
    return present;
  }

  private long memory() {
    return (long) RouteTable.SUBSCRIPTION_BYTES * entries.size() + (long) RouteTable.TEXTS * filterChars;
  }

  /** Why a further subscription is refused; null if it is allowed. */
  private SubscribeRules.@Nullable Refusal refusalOfMore(TopicFilter filter) {
    if (entries.size() >= rules.subscriptionsMax()) return rules.quotaExceeded();
    int filtersMax = loop.budget().bounds().filters();
    if (filterChars + filter.text().length() > filtersMax) return SubscribeRules.filtersTooLong(filtersMax);
    if (session.home().subscriptionMemory().allows(memory(), RouteTable.memoryOf(filter))) return session.durable() ? null : rules.takeOfTenant();
    session.home().subscriptionMemory().refused();
    return SubscribeRules.noMemory();
  }

  int size() {
    return entries.size();
  }

  /** The first ones whose filters' texts come behind another one, in the order of these texts. */
  List<InboxClient.Subscription> behind(String after, int max) {
    FirstRows<TopicFilter> first = new FirstRows<>(Comparator.comparing(TopicFilter::text), max);
    for (TopicFilter filter : entries.keySet()) if (filter.text().compareTo(after) > 0) first.offer(filter);
    return first.inOrder().stream().map(filter -> new InboxClient.Subscription(filter, Objects.requireNonNull(entries.get(filter)).options)).toList();
  }

  /** All of them, in no order. */
  void forEach(BiConsumer<TopicFilter, SubscriptionOptions> visitor) {
    entries.forEach((filter, entry) -> visitor.accept(filter, entry.options));
  }

  /** Whether an unanswered SUBSCRIBE or UNSUBSCRIBE packet has this packet identifier. */
  boolean uses(int packetId) {
    return underWay != null && underWay.contains(packetId);
  }

  /** Whether a packet of this type must not take effect before an unanswered one. */
  boolean mustWait(int packetType) {
    return switch (packetType) {
      case PacketDecoder.PUBLISH -> subscribesUnderWay > 0 || unsubscribesUnderWay > 0;
      case SUBSCRIBE -> unsubscribesUnderWay > 0;
      case UNSUBSCRIBE -> subscribesUnderWay > 0;
      default -> false;
    };
  }

  private void begins(int packetId, int bytes) {
    session.operationBegins(bytes);
    if (underWay == null) underWay = new HashSet<>(4);
    underWay.add(packetId);
  }

  private void ends(int packetId, int bytes) {
    session.operationEnds(bytes);
    if (underWay != null && underWay.remove(packetId) && underWay.isEmpty()) underWay = null; // an MQTT 3 client may use an identifier twice
    // A waiting request waits for all packets of one kind.
    if (subscribesUnderWay == 0 && unsubscribesUnderWay == 0) session.connection().resume(Hold.ORDER);
  }

  /**
   * Whether another unanswered packet has this identifier. In MQTT 3 the only possible answer would be to close the
   * connection, and a client that has lost its state would be closed at each attempt; so its packet is processed.
   */
  private boolean identifierInUse(int packetId) {
    if (!session.version().hasProperties() || !(uses(packetId) || session.publishesAs(packetId))) return false;
    session.connection().note(ReasonCode.PACKET_IDENTIFIER_IN_USE, null, inUse(packetId));
    return true;
  }

  static String inUse(int packetId) {
    return "packet identifier " + packetId + " is in use";
  }

  /** The options of a subscription; null without one. */
  @Nullable SubscriptionOptions optionsOf(TopicFilter filter) {
    Entry entry = entries.get(filter);
    return entry == null ? null : entry.options;
  }

  /** Messages that it has taken as a member of a group; 0 as long as it is none. */
  long takenOf(TopicFilter filter) {
    Entry entry = entries.get(filter);
    return entry == null || entry.subscriber == null ? 0 : entry.subscriber.taken();
  }

  public void subscribe(Packet.Subscribe packet) {
    List<RequestedSubscription> asked = packet.subscriptions();
    if (identifierInUse(packet.packetId())) {
      List<ReasonCode> all = Collections.nCopies(asked.size(), ReasonCode.PACKET_IDENTIFIER_IN_USE);
      session.connection().writer().writePacket(new Packet.Suback(packet.packetId(), all, inUse(packet.packetId()), List.of()));
      return;
    }
    int bytes = Subscribing.bytesOf(asked);
    if (!session.hasRoomFor(bytes)) {
      refuseAll(packet);
      return;
    }
    Subscribing subscribing = new Subscribing(packet.packetId(), asked.size(), bytes);
    begins(packet.packetId(), subscribing.bytes);
    subscribesUnderWay++;
    Map<TopicFilter, Subscribing.Granted> granted = new LinkedHashMap<>();
    for (int i = 0; i < asked.size(); i++) {
      Optional<TopicFilter> parsed = TopicFilter.parse(asked.get(i).filter());
      SubscribeRules.Refusal refusal = rules.refusal(parsed);
      if (refusal != null || parsed.isEmpty()) {
        refused(subscribing, i, Objects.requireNonNull(refusal));
        continue;
      }
      TopicFilter filter = parsed.get();
      SubscriptionOptions options = allowed(filter, rules.granted(asked.get(i).options()));
      if (options == null) {
        deny(subscribing, i);
        continue;
      }
      Entry entry = entries.get(filter);
      boolean existed = entry != null;
      SubscribeRules.Refusal more = existed ? null : refusalOfMore(filter);
      if (more != null) {
        refused(subscribing, i, more);
        continue;
      }
      subscribing.reasons[i] = success(options);
      if (wantsRetained(filter, options, existed)) subscribing.retainedDue.putLast(filter, options);
      if (entry == null) {
        entry = new Entry(options);
        put(filter, entry);
      } else {
        entry.options = options;
      }
      Subscribing.Granted equal = granted.get(filter);
      if (equal == null) granted.put(filter, new Subscribing.Granted(filter, entry, !existed, i));
      else subscribing.again(equal, i);
    }
    if (!session.durable()) for (Subscribing.Granted each : granted.values()) route(each, subscribing);
    else if (!granted.isEmpty()) store(granted.values(), subscribing);
    oneDone(subscribing);
  }

  /** Refuses a packet for want of memory. */
  private void refuseAll(Packet.Subscribe packet) {
    SubscribeRules.Refusal refusal = SubscribeRules.noMemoryForPacket();
    session.home().requestMemory().refused();
    session.connection().note(refusal.reason(), refusal.limit(), refusal.explanation());
    List<ReasonCode> all = Collections.nCopies(packet.subscriptions().size(), refusal.reason());
    session.connection().writer().writePacket(new Packet.Suback(packet.packetId(), all, refusal.explanation(), List.of()));
  }

  private void refused(Subscribing subscribing, int index, SubscribeRules.Refusal refusal) {
    subscribing.reasons[index] = refusal.reason();
    if (subscribing.explanation != null) return;
    subscribing.explanation = "topic filter " + (index + 1) + ": " + refusal.explanation();
    session.connection().note(refusal.reason(), refusal.limit(), subscribing.explanation);
  }

  /** The options with the QoS that access rules allow; null if they do not allow the subscription. */
  private @Nullable SubscriptionOptions allowed(TopicFilter filter, SubscriptionOptions options) {
    SessionAccess access = session.access();
    if (access == null) return options;
    QoS qos = access.grant(filter, options.maximumQoS());
    return qos == null ? null : SubscribeRules.withQoS(options, qos);
  }

  private static void deny(Subscribing subscribing, int index) {
    subscribing.reasons[index] = ReasonCode.NOT_AUTHORIZED;
    if (subscribing.explanation == null) subscribing.explanation = "topic filter " + (index + 1) + ": the client may not subscribe to it";
  }

  /** Ends the subscriptions that access rules do not allow any more. */
  void checkAccess(SessionAccess access) {
    List<TopicFilter> denied = new ArrayList<>(1);
    entries.forEach(
        (filter, entry) -> {
          if (!access.keeps(filter, entry.options.maximumQoS())) denied.add(filter);
        });
    if (denied.isEmpty()) return;
    access.checkAll(); // what they have brought may still wait
    for (TopicFilter filter : denied) {
      Entry entry = Objects.requireNonNull(remove(filter));
      session.endRetained(filter);
      if (!session.durable()) detach(entry);
    }
    if (!session.durable()) return;
    session.tiers().inbox().unsubscribe(session.ref(), denied).whenComplete(
        (_, failure) ->
            loop.post(
                () -> {
                  if (failure != null && !session.ended()) session.connection().storeFailed("ending subscriptions", failure);
                }));
  }

  private boolean wantsRetained(TopicFilter filter, SubscriptionOptions options, boolean existed) {
    if (filter.shared() || !rules.retain()) return false;
    return options.retainHandling() == 0 || (options.retainHandling() == 1 && !existed);
  }

  private static ReasonCode success(SubscriptionOptions options) {
    return switch (options.maximumQoS()) {
      case AT_MOST_ONCE -> ReasonCode.SUCCESS;
      case AT_LEAST_ONCE -> ReasonCode.GRANTED_QOS_1;
      case EXACTLY_ONCE -> ReasonCode.GRANTED_QOS_2;
    };
  }

  private void store(Collection<Subscribing.Granted> granted, Subscribing subscribing) {
    for (Subscribing.Granted each : granted) each.entry.stores++;
    List<InboxClient.Subscription> toStore = Subscribing.subscriptions(granted);
    subscribing.left++;
    session.tiers().inbox().subscribe(session.ref(), toStore).whenComplete(
        (_, failure) ->
            loop.post(
                () -> {
                  for (InboxClient.Subscription one : toStore) stored(one.filter(), failure == null);
                  if (failure != null) {
                    SubscribeRules.Refusal refusal = refusal(failure);
                    int first = subscribing.firstGranted();
                    subscribing.refuseAll(refusal.reason());
                    failed(subscribing, first, refusal);
                    loop.meters().storeFailed();
                  }
                  oneDone(subscribing);
                }));
  }

  /** Records a refusal; only an exceeded limit counts as a violation by the client. */
  private void failed(Subscribing subscribing, int index, SubscribeRules.Refusal refusal) {
    if (refusal.reason() == ReasonCode.QUOTA_EXCEEDED) {
      refused(subscribing, index, refusal);
      return;
    }
    subscribing.reasons[index] = refusal.reason();
    subscribing.explanation = "topic filter " + (index + 1) + ": " + refusal.explanation();
  }

  /** A SUBSCRIBE that fails does not remove what another one has stored, or what a later one may still store. */
  private void stored(TopicFilter filter, boolean success) {
    Entry entry = entries.get(filter);
    if (entry == null) return; // the session has ended
    entry.stores--;
    entry.stored |= success;
    if (!entry.stored && entry.stores == 0) remove(filter);
  }

  private SubscribeRules.Refusal refusal(Throwable failure) {
    Throwable cause = failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    return switch (cause) {
      case QuotaExceededException full ->
          switch (full.kind()) {
            case MEMORY -> SubscribeRules.noRoomInStore(full.limit());
            case ROUTES -> SubscribeRules.noRoomForRoute(full.limit());
            case GROUPS -> SubscribeRules.tooManyGroups(full.limit());
            case TENANT_SUBSCRIPTIONS, TENANT_ROUTES -> SubscribeRules.fullOfTenant(full.what(), full.limit());
            case PATTERNS -> SubscribeRules.tooManyPatterns(full.limit());
            case SUBSCRIPTIONS, SESSIONS, TENANT_SESSIONS -> rules.quotaExceeded();
          };
      case RouteQuotaException full ->
          switch (full.kind()) {
            case MEMORY -> SubscribeRules.noRoomForRoute(full.limit());
            case GROUPS -> SubscribeRules.tooManyGroups(full.limit());
            case TENANT -> SubscribeRules.fullOfTenant("routes of the tenant", full.limit());
            case PATTERNS -> SubscribeRules.tooManyPatterns(full.limit());
          };
      case StoreException _ -> new SubscribeRules.Refusal(ReasonCode.IMPLEMENTATION_SPECIFIC_ERROR, null, "could not be stored now");
      default -> new SubscribeRules.Refusal(ReasonCode.UNSPECIFIED_ERROR, null, "could not be stored");
    };
  }

  /** Has a subscription that is kept here take effect, and waits until publishes find it. */
  private void route(Subscribing.Granted granted, Subscribing subscribing) {
    Entry entry = granted.entry;
    if (granted.isNew) entry.routing = new Routing(failure -> routed(granted.filter, entry, failure));
    else if (entry.subscriber != null) entry.subscriber.replaceOptions(entry.options);
    // Also if the subscription existed: the SUBSCRIBE that created it may still wait for the route.
    awaitRoute(granted, subscribing);
    if (granted.isNew) attach(granted.filter, entry, Objects.requireNonNull(entry.routing)); // the route may be refused at once
  }

  /** Has the filter's loop count the subscription, then adds the subscriber to its list. */
  private void attach(TopicFilter filter, Entry entry, Routing routing) {
    SubscriptionOptions options = entry.options;
    Loop here = loop; // so that what waits for the route does not refer to this session
    LoopFanout owner = session.home().ownerOf(session.publisher().tenant(), filter);
    owner.loop().run(
        () -> {
          RouteTable.Use use = owner.routes().acquire(session.publisher().tenant(), filter);
          Subscriber subscriber = new Subscriber(session, use.handle(), options);
          ShareGroup group = use.handle().group();
          if (group != null) group.add(subscriber);
          loop.run(() -> attached(entry, subscriber));
          use.routed().whenComplete((_, failure) -> here.run(() -> routing.arrived(failure)));
        });
  }

  private void attached(Entry entry, Subscriber subscriber) {
    entry.subscriber = subscriber;
    if (entry.removed) {
      releaseAtOwner(subscriber);
      return;
    }
    subscriber.replaceOptions(entry.options);
    if (!subscriber.filter.filter().shared()) subscriber.filter.add(loop.index(), subscriber);
  }

  private void routed(TopicFilter filter, Entry entry, @Nullable Throwable failure) {
    Routing routing = Objects.requireNonNull(entry.routing, "routed twice");
    entry.routing = null;
    if (failure == null) {
      routing.done.complete(null);
      return;
    }
    loop.meters().storeFailed();
    if (entries.get(filter) == entry) {
      remove(filter);
      detach(entry);
    }
    routing.done.completeExceptionally(failure);
  }

  private void awaitRoute(Subscribing.Granted granted, Subscribing subscribing) {
    if (granted.entry.routing == null) return;
    subscribing.left++;
    granted.entry.routing.done.whenComplete(
        (_, failure) -> {
          if (failure != null) {
            SubscribeRules.Refusal refusal = refusal(failure);
            failed(subscribing, subscribing.refuse(granted, refusal.reason()), refusal);
          }
          oneDone(subscribing);
        });
  }

  private void oneDone(Subscribing subscribing) {
    if (--subscribing.left > 0) return;
    subscribesUnderWay--;
    ends(subscribing.packetId, subscribing.bytes);
    if (session.ended()) return;
    session.connection().writer().writePacket(
        new Packet.Suback(subscribing.packetId, Arrays.asList(subscribing.reasons), subscribing.explanation, List.of()));
    subscribing.retainedDue.forEach(
        (filter, options) -> {
          if (entries.containsKey(filter)) session.readRetained(filter, options);
        });
  }

  public void unsubscribe(Packet.Unsubscribe packet) {
    int packetId = packet.packetId();
    if (identifierInUse(packetId)) {
      List<ReasonCode> all = Collections.nCopies(packet.filters().size(), ReasonCode.PACKET_IDENTIFIER_IN_USE);
      session.connection().writer().writePacket(new Packet.Unsuback(packetId, all, inUse(packetId), List.of()));
      return;
    }
    Unsubscribing unsubscribing = new Unsubscribing(packet);
    List<TopicFilter> stored = new ArrayList<>();
    List<Entry> groups = new ArrayList<>();
    for (int i = 0; i < packet.filters().size(); i++) {
      String text = packet.filters().get(i);
      Optional<TopicFilter> parsed = TopicFilter.parse(text);
      if (parsed.isEmpty()) {
        if (!session.version().hasProperties()) {
          // UNSUBACK of MQTT 3 has no reason codes, so the connection is closed.
          session.connection().violated(ReasonCode.TOPIC_FILTER_INVALID, null, "invalid topic filter in UNSUBSCRIBE");
          leaveGroups(groups, () -> {});
          return;
        }
        String explanation = unsubscribing.invalid(i);
        if (explanation != null) session.connection().note(ReasonCode.TOPIC_FILTER_INVALID, null, explanation);
        continue;
      }
      Entry entry = remove(parsed.get());
      session.endRetained(parsed.get());
      if (entry == null) continue;
      unsubscribing.ended(i, text);
      if (session.durable()) stored.add(parsed.get());
      else if (parsed.get().shared()) groups.add(entry);
      else detach(entry);
    }
    if (stored.isEmpty() && groups.isEmpty()) {
      session.connection().writer().writePacket(unsubscribing.answer());
      return;
    }
    begins(packetId, unsubscribing.bytes());
    unsubscribesUnderWay++;
    if (stored.isEmpty()) {
      leaveGroups(groups, () -> unsubscribed(unsubscribing, null));
    } else {
      session.tiers().inbox().unsubscribe(session.ref(), stored).whenComplete(
          (_, failure) -> loop.post(() -> unsubscribed(unsubscribing, failure)));
    }
  }

  private void unsubscribed(Unsubscribing unsubscribing, @Nullable Throwable failure) {
    unsubscribesUnderWay--;
    ends(unsubscribing.packetId, unsubscribing.bytes());
    if (session.ended()) return;
    if (failure != null) session.connection().storeFailed("unsubscribing", failure);
    else session.connection().writer().writePacket(unsubscribing.answer());
  }

  /**
   * The loop of a group's filter keeps its members, so only that loop can confirm that the client is no longer a
   * member.
   */
  private void leaveGroups(List<Entry> groups, Runnable then) {
    int[] left = {groups.size()};
    for (Entry entry : groups) {
      Subscriber subscriber = Objects.requireNonNull(entry.subscriber, "an UNSUBSCRIBE does not overtake its SUBSCRIBE");
      entry.removed = true;
      LoopFanout owner = session.home().ownerOf(subscriber.filter.tenant(), subscriber.filter.filter());
      owner.loop().run(
          () -> {
            releaseAtOwner(subscriber);
            loop.run(
                () -> {
                  if (--left[0] == 0) then.run();
                });
          });
    }
  }

  private void detach(Entry entry) {
    entry.removed = true;
    if (entry.routing != null) entry.routing.end(loop);
    entry.routing = null;
    Subscriber subscriber = entry.subscriber;
    if (subscriber == null) return; // its handle has not arrived yet; attached() will release it
    if (!subscriber.filter.filter().shared()) subscriber.filter.remove(loop.index(), subscriber);
    releaseAtOwner(subscriber);
  }

  private void releaseAtOwner(Subscriber subscriber) {
    FilterHandle handle = subscriber.filter;
    LoopFanout owner = session.home().ownerOf(handle.tenant(), handle.filter());
    owner.loop().run(
        () -> {
          ShareGroup group = handle.group();
          if (group != null) group.remove(subscriber);
          owner.routes().release(handle);
        });
  }

  /** Ends the subscriptions with the connection; those of a durable session stay in the session tier. */
  void end() {
    for (Entry entry : entries.values()) if (!session.durable()) detach(entry);
    session.home().subscriptionMemory().add(-memory());
    if (!session.durable()) rules.giveBackToTenant(entries.size());
    entries = Map.of();
    filterChars = 0;
  }
}
