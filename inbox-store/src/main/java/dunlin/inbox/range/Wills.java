package dunlin.inbox.range;

import dunlin.inbox.InboxClient;
import dunlin.inbox.range.Effects.DueWill;
import dunlin.inbox.rows.DueKey;
import dunlin.inbox.rows.SessionFields;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.PendingWill;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.transport.Terms;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The wills of a range: kept from CONNECT until they are published or discarded; MQTT 5, section 3.1.2.5. */
final class Wills {
  /*
   * Owner: the applying thread.
   * Bounds: one will for each connection that left one. A will is published at least once: it stays until the leader
   * has logged that it was published, and is reported again if it has not: after REPORT_AGAIN_MILLIS, or when a new
   * leader begins, or this one again after a restart. The previous leader may not have published what was reported to
   * it. If it has, and its sending is recorded, the row says that the message is stored, and is gone once the will is published: so an attempt that comes late stores nothing.
   */
  /** Of a will whose message is stored, with its origin. */
  private static final int FORMAT_STORED = 3;

  /** With the user; before, there was none in the row. */
  private static final int FORMAT = 2;

  private static final int FORMAT_WITHOUT_USER = 1;
  private static final long REPORT_AGAIN_MILLIS = 60_000;

  private final RangeState state;

  Wills(RangeState state) {
    this.state = state;
  }

  /** Keeps the will of a new connection. */
  void keep(Change change, SessionState session, InboxClient.Will request) {
    var will = new PendingWill(session.key, session.epoch, session.user, request.delaySeconds(), PendingWill.NOT_DUE);
    session.will = will;
    write(change, will, StoredMessage.bytes(request.message()));
  }

  /** Schedules a will to be published at a time, even if the session ends before. */
  void due(Change change, PendingWill will, long at) {
    unqueue(will);
    will.dueAt = Math.max(1, at);
    will.reportAt = will.dueAt;
    queue(will);
    if (at <= change.now()) change.effects().willDue();
    write(change, will, message(change, will));
  }

  /** Discards a will that must not be published. */
  void discard(Change change, PendingWill will) {
    unqueue(will);
    change.out().delete(SessionKeys.will(will.session, will.epoch));
  }

  /**
   * Discards the will of a connection that another one has displaced, because its client had sent DISCONNECT before
   * [MQTT-3.1.2-10].
   */
  void discardDisplaced(Change change, SessionKey session, long epoch) {
    var will = sent(session, epoch);
    if (will == null) return;
    discard(change, will);
    change.effects().willDiscarded(epoch);
  }

  /** A will that may be on its way; null when it is published or discarded. */
  @Nullable PendingWill sent(SessionKey session, long epoch) {
    var will = state.willsByEpoch.get(epoch);
    return will == null || !will.session.equals(session) ? null : will;
  }

  /** Records that the message of a will is stored. */
  void stored(Change change, PendingWill will, Terms.Origin origin) {
    will.stored = origin;
    write(change, will, message(change, will));
  }

  /** Removes the will of an epoch after it was published. */
  void published(Change change, SessionKey session, long epoch) {
    change.out().delete(SessionKeys.will(session, epoch));
    var due = state.willsByEpoch.get(epoch);
    if (due != null) unqueue(due);
    var present = state.sessions.get(session);
    if (present != null && present.will != null && present.will.epoch == epoch) present.will = null;
  }

  /** Reports wills that are due. */
  void report(Change change, int max) {
    for (int i = 0; i < max && !state.dueWills.isEmpty(); i++) {
      var will = state.dueWills.firstEntry().getValue();
      if (will.reportAt > change.now()) return;
      unqueue(will);
      will.reportAt = change.now() + REPORT_AGAIN_MILLIS;
      queue(will);
      var message = StoredMessage.message(message(change, will));
      change.effects().will(new DueWill(will.session, will.epoch, will.user, message, will.reported || will.stored != null, will.stored != null, will.displaced));
      will.reported = true;
    }
  }

  /**
   * Called when this node becomes the leader. The replayed log has marked wills as reported, but no running server
   * received those reports.
   */
  void leaderBegins() {
    for (PendingWill will : List.copyOf(state.willsByEpoch.values())) {
      unqueue(will);
      will.reportAt = will.dueAt;
      queue(will);
    }
  }

  private static byte[] message(Change change, PendingWill will) {
    byte[] value = change.out().get(SessionKeys.will(will.session, will.epoch));
    if (value == null) throw new IllegalStateException("will of epoch " + will.epoch + " is missing");
    return FieldReader.read(
        value,
        in -> {
          readFields(in, will.session, will.epoch);
          return in.bytes();
        });
  }

  /** Reads what is in front of the message. */
  private static PendingWill readFields(FieldReader in, SessionKey key, long epoch) {
    int format = in.octet();
    if (format < FORMAT_WITHOUT_USER || format > FORMAT_STORED) throw new IllegalStateException("will of unknown format " + format);
    var will = new PendingWill(key, epoch, format == FORMAT_WITHOUT_USER ? "" : in.text(), in.number(), in.number());
    if (format == FORMAT_STORED) will.stored = SessionFields.readOrigin(in);
    return will;
  }

  private static void write(Change change, PendingWill will, byte[] message) {
    change
        .out()
        .put(
            SessionKeys.will(will.session, will.epoch),
            FieldWriter.bytesOf(
                fields -> {
                  var stored = will.stored;
                  fields.octet(stored == null ? FORMAT : FORMAT_STORED);
                  fields.text(will.user);
                  fields.number(will.delaySeconds);
                  fields.number(will.dueAt);
                  if (stored != null) SessionFields.writeOrigin(fields, stored);
                  fields.bytes(message);
                }));
  }

  /** Restores a will from its row. */
  void restore(SessionKey key, long epoch, byte[] value) {
    var will =
        FieldReader.read(
            value,
            in -> {
              var read = readFields(in, key, epoch);
              in.skipRest();
              return read;
            });
    will.reported = will.dueAt != PendingWill.NOT_DUE;
    if (will.reported) queue(will);
    var session = state.sessions.get(key);
    if (session != null && session.epoch == epoch) session.will = will;
  }

  private void queue(PendingWill will) {
    state.dueWills.put(new DueKey(will.reportAt, will.epoch), will);
    state.willsByEpoch.put(will.epoch, will);
  }

  private void unqueue(PendingWill will) {
    if (will.dueAt == PendingWill.NOT_DUE) return;
    state.dueWills.remove(new DueKey(will.reportAt, will.epoch));
    state.willsByEpoch.remove(will.epoch);
  }
}
