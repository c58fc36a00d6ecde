package dunlin.broker.codec;

import dunlin.model.SubscriptionOptions;

/**
 * One line of a SUBSCRIBE packet; MQTT 5, section 3.8.3.
 *
 * @param filter the topic filter as the client spells it: sound UTF-8, not yet known to be a valid filter
 * @param options what the client asks for; its subscription identifier is that of the packet
 */
public record RequestedSubscription(String filter, SubscriptionOptions options) {}
