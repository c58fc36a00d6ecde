package dunlin.broker.session;

import dunlin.broker.codec.Limit;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.tenant.Tenant;
import dunlin.broker.tenant.TenantLimit;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import io.netty.buffer.ByteBufUtil;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Decides by this server's settings and the limits of a tenant which topic filters may be subscribed to, and which options are granted; MQTT 5,
 * sections 3.8.3 and 3.9.3.
 */
public final class SubscribeRules {
  private final FrontendSettings.Features features;
  private final int bytesMax;
  private final int levelsMax;
  private final int subscriptionsMax;
  private final @Nullable Tenant tenant;

  /** Why a subscription is refused. */
  public record Refusal(ReasonCode reason, @Nullable Limit limit, String explanation) {}

  public SubscribeRules(FrontendSettings settings) {
    this.features = settings.features();
    this.bytesMax = settings.packets().topicLengthMax();
    this.levelsMax = settings.packets().topicLevelsMax();
    this.subscriptionsMax = settings.sessions().subscriptionsMax();
    this.tenant = null;
  }

  private SubscribeRules(SubscribeRules all, Tenant tenant) {
    FrontendSettings.Features of = all.features;
    this.features =
        new FrontendSettings.Features(
            tenant.atMost(of.maximumQoS()), of.retain(), of.wildcardSubscriptions() && !tenant.denies(TenantLimit.WILDCARDS), of.subscriptionIdentifiers(),
            of.sharedSubscriptions() && !tenant.denies(TenantLimit.SHARED), of.payloadFormatCheck(), of.responseInformation());
    this.bytesMax = all.bytesMax;
    this.levelsMax = all.levelsMax;
    this.subscriptionsMax = tenant.atMost(TenantLimit.SUBSCRIPTIONS, all.subscriptionsMax);
    this.tenant = tenant;
  }

  /** The same with the limits that a tenant has now. */
  public SubscribeRules in(Tenant one) {
    boolean fewer =
        one.limits(TenantLimit.SUBSCRIPTIONS) || one.limits(TenantLimit.ALL_SUBSCRIPTIONS) || one.limits(TenantLimit.QOS) || one.limits(TenantLimit.WILDCARDS) || one.limits(TenantLimit.SHARED);
    return fewer ? new SubscribeRules(this, one) : this;
  }

  /** The features that clients may use: what CONNACK announces. */
  public FrontendSettings.Features features() {
    return features;
  }

  /** How many subscriptions a session may have. */
  public int subscriptionsMax() {
    return subscriptionsMax;
  }

  /** Why a client may not have the subscription; null if it may. In SUBSCRIBE packets, identifiers that are switched off are refused as they are read. */
  public @Nullable Refusal refusal(TopicFilter filter, SubscriptionOptions options) {
    if (options.subscriptionIdentifier() == 0 || features.subscriptionIdentifiers()) return refusal(Optional.of(filter));
    return new Refusal(
        ReasonCode.SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED, null,
        "subscription identifiers are switched off (dunlin.mqtt.subscription-identifiers-available)");
  }

  /** Why the filter may not be subscribed to; null if it may. */
  public @Nullable Refusal refusal(Optional<TopicFilter> parsed) {
    if (parsed.isEmpty()) return new Refusal(ReasonCode.TOPIC_FILTER_INVALID, null, "is not valid");
    String filter = parsed.get().filter();
    int bytes = ByteBufUtil.utf8Bytes(filter);
    if (bytes > bytesMax) return tooMuch(Limit.TOPIC_LENGTH, bytes + " bytes", bytesMax);
    int levels = parsed.get().levels();
    if (levels > levelsMax) return tooMuch(Limit.TOPIC_LEVELS, levels + " levels", levelsMax);
    if (parsed.get().shared() && !features.sharedSubscriptions()) {
      return off(ReasonCode.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED, TenantLimit.SHARED, "shared subscriptions", "shared-subscription-available");
    }
    if (!features.wildcardSubscriptions() && (filter.indexOf('+') >= 0 || filter.indexOf('#') >= 0)) {
      return off(ReasonCode.WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED, TenantLimit.WILDCARDS, "wildcards", "wildcard-subscription-available");
    }
    return null;
  }

  private static Refusal tooMuch(Limit limit, String what, int max) {
    return new Refusal(ReasonCode.TOPIC_FILTER_INVALID, limit, limit.exceededBy("has " + what, max));
  }

  private Refusal off(ReasonCode reason, TenantLimit limit, String what, String setting) {
    if (tenant != null && tenant.denies(limit)) {
      tenant.hit(limit);
      return new Refusal(reason, null, what + " are not allowed to this tenant");
    }
    return new Refusal(reason, null, what + " are switched off (dunlin.mqtt." + setting + ")");
  }

  /** The session has its maximum number of subscriptions. */
  Refusal quotaExceeded() {
    if (tenant != null && tenant.limits(TenantLimit.SUBSCRIPTIONS)) {
      tenant.hit(TenantLimit.SUBSCRIPTIONS);
      return new Refusal(ReasonCode.QUOTA_EXCEEDED, null, "one more subscription of this session, limit " + subscriptionsMax + " of its tenant");
    }
    String explanation = Limit.SUBSCRIPTIONS.exceededBy("one more subscription of this session", subscriptionsMax);
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, Limit.SUBSCRIPTIONS, explanation);
  }

  /** Counts a subscription of a session that is not durable, unless its tenant has as many at this node as it may have; null when it is counted. */
  @Nullable Refusal takeOfTenant() {
    if (tenant == null || tenant.subscribe()) return null;
    tenant.hit(TenantLimit.ALL_SUBSCRIPTIONS);
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, null, "too many subscriptions of the tenant at this node");
  }

  /** Ends subscriptions that were counted. */
  void giveBackToTenant(int count) {
    if (tenant != null) tenant.unsubscribe(count);
  }

  /** The filters of the session have reached their maximum total length. */
  static Refusal filtersTooLong(int max) {
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, Limit.FILTER_BYTES, Limit.FILTER_BYTES.exceededBy("the topic filters of this session are too long", max));
  }

  /** The node's memory for subscriptions is nearly used up, and this client has a large part of it. */
  static Refusal noMemory() {
    String explanation = "there is no memory for one more subscription (%s)".formatted(Limit.SUBSCRIPTION_MEMORY.setting());
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, Limit.SUBSCRIPTION_MEMORY, explanation);
  }

  /** The node's memory for unanswered packets is nearly used up, and this client has a large part of it. */
  static Refusal noMemoryForPacket() {
    String explanation = "there is no memory for one more SUBSCRIBE until others are answered (%s)".formatted(Limit.REQUEST_MEMORY.setting());
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, Limit.REQUEST_MEMORY, explanation);
  }

  /** The durable sessions with their subscriptions have reached their memory limit. */
  static Refusal noRoomInStore(long max) {
    String explanation = Limit.SESSION_MEMORY.exceededBy("the memory for durable sessions and their subscriptions is used up", max);
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, Limit.SESSION_MEMORY, explanation);
  }

  /** The routes of the cluster have reached their memory limit. */
  static Refusal noRoomForRoute(long max) {
    String explanation = Limit.ROUTE_MEMORY.exceededBy("the memory for routes of topic filters is used up", max);
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, Limit.ROUTE_MEMORY, explanation);
  }

  /** The topic filter has its maximum number of groups of shared subscriptions. */
  static Refusal tooManyGroups(long max) {
    String explanation = Limit.GROUPS.exceededBy("one more group of shared subscriptions with this topic filter", max);
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, Limit.GROUPS, explanation);
  }

  /** The tenant has as many as it may have of something that the stores count, in words. */
  static Refusal fullOfTenant(String what, long max) {
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, null, "too many %s, limit %d".formatted(what, max));
  }

  /** The filters of the tenant have as many patterns of wildcards as they may have. */
  static Refusal tooManyPatterns(long max) {
    String explanation = Limit.PATTERNS.exceededBy("one more pattern of + in the topic filters of all clients", max);
    return new Refusal(ReasonCode.QUOTA_EXCEEDED, Limit.PATTERNS, explanation);
  }

  /** The granted options; the QoS may be lower than requested [MQTT-3.2.2-10]. */
  public SubscriptionOptions granted(SubscriptionOptions asked) {
    return withQoS(asked, asked.maximumQoS().min(features.maximumQoS()));
  }

  /** The same options with another maximum QoS. */
  static SubscriptionOptions withQoS(SubscriptionOptions asked, QoS qos) {
    if (qos == asked.maximumQoS()) return asked.shared();
    return new SubscriptionOptions(
        qos, asked.noLocal(), asked.retainAsPublished(), asked.retainHandling(), asked.subscriptionIdentifier())
        .shared();
  }

  /** Whether new subscriptions get retained messages at all. */
  boolean retain() {
    return features.retain();
  }
}
