package dunlin.inbox;

import dunlin.model.TopicFilter;

/** A shared subscription: the same group name, filter and mode. */
record GroupKey(String tenant, TopicFilter filter) {}
