package dunlin.transport;

import dunlin.model.TopicFilter;

/**
 * Where a message was that the last member of a group has left behind.
 *
 * @param group the filter of the shared subscription
 * @param frontend the node whose member has left; it has another one only if that has come since
 */
public record LeftBehind(TopicFilter group, String frontend) {}
