package dunlin.inbox.range;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.RouteKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.transport.trace.Trace.Step;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the leader has to do and count after a command was applied. */
public final class Effects {
  /*
   * Owner: the applying thread, which fills this object and then runs the command's completion.
   * Bounds: given by the command: the sessions that it matches, its steps, or the subscriptions of one session.
   * Traces: what happens to messages is noted while a trace runs on this node. Only the leader does anything with it, and no row depends on it.
   */
  private List<Push> pushes = List.of();
  private List<RouteChange> routes = List.of();
  private List<GroupKey> drains = List.of();
  private List<GroupKey> stuck = List.of();
  private List<DueWill> wills = List.of();
  private Map<InboxDropReason, Integer> dropped = Map.of();
  private @Nullable ConnectionId displaced;
  private @Nullable ConnectionId dismissed;
  private boolean moreWork;
  private boolean tenantFull;
  private boolean willDue;
  private long willDiscarded;
  private int appended;
  private int acknowledged;
  private int sessionsExpired;

  /** Whether a trace runs, so that what happens to messages is noted. */
  private final boolean notes;

  private List<Note> noted = List.of();

  /**
   * What happened to a message, for a trace.
   *
   * @param reason of the step; empty for none
   * @param clientId whose inbox it is; empty for that of a group, and of a session that has ended
   */
  public record Note(Step step, String reason, String clientId, Publication message) {}

  /** @param notes whether what happens to messages is noted */
  public Effects(boolean notes) {
    this.notes = notes;
  }

  /** A message for a present connection. */
  public record Push(SessionState session, ConnectionId connection, InboxMessage message) {}

  /** A shard has got its first subscription of a topic filter, or lost its last one. */
  public record RouteChange(RouteKey route, boolean wanted) {}

  /**
   * A will to be published now.
   *
   * @param user the user of its session; empty for none
   * @param again whether it may have been sent before
   * @param stored whether its sending is recorded, and its message is stored
   * @param displaced the connection that left it, if another one has displaced it; the will may still be discarded
   *     until this connection has settled
   */
  public record DueWill(SessionKey session, long epoch, String user, Publication message, boolean again, boolean stored, @Nullable ConnectionId displaced) {}

  void push(SessionState session, ConnectionId connection, InboxMessage message) {
    if (pushes.isEmpty()) pushes = new ArrayList<>();
    pushes.add(new Push(session, connection, message));
  }

  void route(RouteKey route, boolean wanted) {
    if (routes.isEmpty()) routes = new ArrayList<>();
    routes.add(new RouteChange(route, wanted));
  }

  /** Notes that a group has messages in its inbox and members with room. */
  void drain(GroupKey group) {
    if (drains.contains(group)) return;
    if (drains.isEmpty()) drains = new ArrayList<>();
    drains.add(group);
  }

  /** Notes that messages wait in a group and no member in this range takes them now. */
  void stuck(GroupKey group) {
    if (stuck.contains(group)) return;
    if (stuck.isEmpty()) stuck = new ArrayList<>();
    stuck.add(group);
  }

  void will(DueWill will) {
    if (wills.isEmpty()) wills = new ArrayList<>();
    wills.add(will);
  }

  /**
   * Counts a dropped message.
   *
   * @param inbox from which or on the way to which it was dropped
   * @param message null if it is not known, or {@link #notes} is false
   */
  void drop(InboxDropReason reason, Backlog inbox, @Nullable Publication message) {
    if (dropped.isEmpty()) dropped = new EnumMap<>(InboxDropReason.class);
    dropped.merge(reason, 1, Integer::sum);
    if (message != null) note(Step.DROPPED, reason.label(), inbox, message);
  }

  /** Whether a trace runs. */
  boolean notes() {
    return notes;
  }

  void note(Step step, String reason, Backlog inbox, Publication message) {
    if (!notes) return;
    if (noted.isEmpty()) noted = new ArrayList<>();
    noted.add(new Note(step, reason, inbox.session == null ? "" : inbox.session.key.clientId(), message));
  }

  /** Notes that a message was dropped or refused only because its tenant's inboxes may hold no more. */
  void tenantFull() {
    tenantFull = true;
  }

  void displace(ConnectionId connection) {
    displaced = connection;
  }

  void dismiss(ConnectionId connection) {
    dismissed = connection;
  }

  void moreWork() {
    moreWork = true;
  }

  /** Notes that a will became due, so that the timer runs at once. */
  void willDue() {
    willDue = true;
  }

  /** Notes that a will that was due has been discarded. */
  void willDiscarded(long epoch) {
    willDiscarded = epoch;
  }

  void append() {
    appended++;
  }

  void acknowledge() {
    acknowledged++;
  }

  void expireSession() {
    sessionsExpired++;
  }

  public List<Push> pushes() {
    return pushes;
  }

  public List<RouteChange> routes() {
    return routes;
  }

  public List<GroupKey> drains() {
    return drains;
  }

  public List<GroupKey> stuck() {
    return stuck;
  }

  public List<DueWill> wills() {
    return wills;
  }

  /** The connection that has lost its session to another, or null. */
  public @Nullable ConnectionId displaced() {
    return displaced;
  }

  /** The connection whose session an operator has removed, or null. */
  public @Nullable ConnectionId dismissed() {
    return dismissed;
  }

  /** Whether the step left work that can be done at once. */
  public boolean hasMoreWork() {
    return moreWork;
  }

  public boolean hasWillDue() {
    return willDue;
  }

  /** The epoch of a will that was due and must not be published any more; 0 for none. */
  public long willDiscarded() {
    return willDiscarded;
  }

  /** Messages offered to inboxes: stored, or dropped because of a bound. */
  public int appended() {
    return appended;
  }

  public int acknowledged() {
    return acknowledged;
  }

  public int sessionsExpired() {
    return sessionsExpired;
  }

  /** Whether messages were dropped or refused only because their tenant's inboxes may hold no more. */
  public boolean isTenantFull() {
    return tenantFull;
  }

  public List<Note> noted() {
    return noted;
  }

  public Map<InboxDropReason, Integer> dropped() {
    return dropped;
  }
}
