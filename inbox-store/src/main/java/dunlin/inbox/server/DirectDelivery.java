package dunlin.inbox.server;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.Connections;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.state.GroupState.GroupMember;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.Matcher;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.TopicFilter;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** Delivers QoS 0 messages for durable sessions directly to their connections, without the log. */
final class DirectDelivery {
  /*
   * Owner: any thread, without a lock; it reads sessions as the applying thread last left them.
   * Bounds: stateless: each copy is handed to its connection before the call returns, with credit of the publisher's
   * lane. Without a connection the message is dropped and counted.
   */
  private final RangeState state;
  private final Connections connections;
  private final InboxMeters meters;

  DirectDelivery(RangeState state, Connections connections, InboxMeters meters) {
    this.state = state;
    this.connections = connections;
    this.meters = meters;
  }

  void deliver(Publication message, List<TopicFilter> groups) {
    for (Matcher.Match match : Matcher.match(state.index, message)) {
      push(match.session(), match.retain(), match.identifiers(), message);
    }
    for (TopicFilter filter : groups) {
      var group = state.groups.get(new GroupKey(message.tenant(), filter));
      if (group != null) deliver(group, message);
    }
  }

  private void deliver(GroupState group, Publication message) {
    var member = pick(group, message);
    if (member == null) {
      meters.offline(message, "");
      return;
    }
    var options = member.subscriber.options();
    boolean retain = message.retain() && options.retainAsPublished();
    group.dealt(member);
    push(member.session(), retain, Matcher.identifiers(options), message);
  }

  private static @Nullable GroupMember pick(GroupState group, Publication message) {
    if (group.key.filter().ordered()) return group.ordered(message.publisher().clientId());
    var connected = group.connected();
    int size = connected.size();
    int start = size == 0 ? 0 : ThreadLocalRandom.current().nextInt(size);
    for (int i = 0; i < size; i++) {
      var member = connected.at((start + i) % size);
      if (member != null && member.online()) return member;
    }
    return null;
  }

  private void push(SessionState session, boolean retain, int[] identifiers, Publication message) {
    var owner = session.owner();
    if (owner == null) meters.offline(message, session.key.clientId());
    else connections.push(owner, new InboxMessage(0, message.qos(), retain, false, false, identifiers, message));
  }
}
