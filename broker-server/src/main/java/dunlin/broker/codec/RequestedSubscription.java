package dunlin.broker.codec;

import dunlin.model.SubscriptionOptions;

/**
 * One subscription of a SUBSCRIBE packet; MQTT 5, section 3.8.3.
 *
 * @param filter the topic filter as the client has sent it: valid UTF-8, but not checked to be a valid filter
 * @param options the requested options, with the packet's subscription identifier
 */
public record RequestedSubscription(String filter, SubscriptionOptions options) {}
