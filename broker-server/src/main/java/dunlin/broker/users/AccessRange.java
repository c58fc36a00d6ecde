package dunlin.broker.users;

import dunlin.broker.users.AccessCommand.Delete;
import dunlin.broker.users.AccessCommand.Put;
import dunlin.broker.users.AccessCommand.Sweep;
import dunlin.broker.users.AccessEntry.RowKey;
import dunlin.broker.users.AccessEntry.Kind;
import dunlin.broker.users.AccessResult.Done;
import dunlin.broker.users.AccessResult.Refused;
import dunlin.broker.users.AccessResult.Why;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The state machine of the range of users, roles, bans and tenants. Each change of a row raises the version of the range and gives it to the row, so what a copy lacks is what has a
 * later version than the copy.
 */
final class AccessRange implements RangeLogic<AccessCommand, AccessResult> {
  /*
   * Owner: the applying thread changes it; the leader's server reads it on any thread. The lock guards all fields, and is held for one command or one page.
   * Bounds: AccessBounds in the command. All rows are in memory. Of rows that were deleted the last REMOVED_MAX are remembered, and none of before the replica was
   *   opened: a copy that lacks more than that begins anew.
   * Failure: what is wrong with a command is its result; no command stops a replica.
   */
  private static final int REMOVED_MAX = 4_096;
  private static final byte[] HEADER = {0};

  /** What a row takes in memory beside its bytes. */
  static final int ROW_BYTES = 128;

  private final Object lock = new Object();

  /** A row and the bytes that it counts for. */
  private record Held(AccessRow row, long bytes) {}

  private final Map<RowKey, Held> rows = new HashMap<>();

  /** What has changed with a version: the row that has it, or a row that was deleted. */
  private final TreeMap<Long, RowKey> changes = new TreeMap<>();

  /** The versions of deletions in it. */
  private final ArrayDeque<Long> removed = new ArrayDeque<>();

  private final Map<String, Integer> usesOfRoles = new HashMap<>();
  private int users;
  private int roles;
  private int bans;
  private int tenants;
  private long bytes;
  private long version;

  /** The version from which on all deletions are remembered. */
  private long floor;

  private byte[] secret = {};

  @Override
  public void open(RangeReader state) {
    synchronized (lock) {
      rows.clear();
      changes.clear();
      removed.clear();
      usesOfRoles.clear();
      users = 0;
      roles = 0;
      bans = 0;
      tenants = 0;
      bytes = 0;
      version = 0;
      secret = new byte[0];
      state.scan(
          HEADER, null,
          (key, value) -> {
            if (key.length == 1 && key[0] == HEADER[0]) {
              var header = AccessCodec.header(value);
              version = header.version();
              secret = header.secret();
            } else {
              hold(AccessCodec.row(value), key.length + value.length);
            }
            return true;
          });
      floor = version;
    }
  }

  @Override
  public List<AccessResult> apply(List<AccessCommand> commands, RangeWriter out) {
    List<AccessResult> results = new ArrayList<>(commands.size());
    synchronized (lock) {
      long before = version;
      int secretBefore = secret.length;
      for (AccessCommand command : commands) {
        results.add(
            switch (command) {
              case Put put -> put(put, out);
              case Delete(var change) -> delete(change, out);
              case Sweep sweep -> sweep(sweep, out);
            });
      }
      if (version != before || secret.length != secretBefore) out.put(HEADER.clone(), AccessCodec.value(new AccessCodec.Header(version, secret)));
    }
    return results;
  }

  private AccessResult put(Put command, RangeWriter out) {
    var change = command.change();
    var key = change.entry().key();
    var held = rows.get(key);
    var present = held == null ? null : held.row();
    var conflict = conflict(change.expected(), key, present);
    if (conflict != null) return conflict;
    var entry = entry(change, present);
    if (entry instanceof AccessEntry.User user) {
      for (String role : user.roles()) {
        if (!rows.containsKey(new RowKey(Kind.ROLE, role))) return new Refused(Why.ROLES, "there is no role \"" + role + '"');
      }
    }
    var row = new AccessRow(version + 1, present == null ? version + 1 : present.since(), entry);
    byte[] encodedKey = AccessCodec.key(key);
    byte[] value = AccessCodec.value(row);
    var full = full(command.bounds(), key.kind(), present == null, encodedKey.length + value.length + ROW_BYTES - (held == null ? 0 : held.bytes()));
    if (full != null) return full;
    version++;
    if (secret.length == 0) secret = command.secret();
    if (held != null) release(held);
    hold(row, encodedKey.length + value.length);
    out.put(encodedKey, value);
    return new Done(version);
  }

  private static AccessEntry entry(AccessChange.Put change, @Nullable AccessRow present) {
    if (change.keepsVerifier() && change.entry() instanceof AccessEntry.User user && present != null && present.entry() instanceof AccessEntry.User before) {
      return new AccessEntry.User(user.name(), before.verifier(), user.roles(), user.enabled());
    }
    return change.entry();
  }

  private static @Nullable Refused conflict(long expected, RowKey key, @Nullable AccessRow present) {
    if (expected == AccessChange.ANY) return null;
    long is = present == null ? AccessChange.ABSENT : present.version();
    if (is == expected) return null;
    if (present == null) return new Refused(Why.CONFLICT, "\"" + key.name() + "\" does not exist any more");
    return new Refused(Why.CONFLICT, "\"%s\" has version %d".formatted(key.name(), is));
  }

  private @Nullable Refused full(AccessBounds bounds, Kind kind, boolean isNew, long more) {
    if (isNew) {
      var full =
          switch (kind) {
            case USER -> full(users, bounds.usersMax(), "users");
            case ROLE -> full(roles, bounds.rolesMax(), "roles");
            case BANNED_CLIENT, BANNED_USER, BANNED_ADDRESS -> full(bans, bounds.bansMax(), "bans");
            case TENANT -> tenants < AccessBounds.TENANTS_MAX ? null : new Refused(Why.FULL, "there are %d tenants already".formatted(tenants));
          };
      if (full != null) return full;
    }
    if (more > 0 && bytes + more > bounds.bytesMax()) {
      return new Refused(Why.FULL, "users, roles, bans and tenants have %d bytes already (dunlin.auth.users.size-max)".formatted(bytes));
    }
    return null;
  }

  private static @Nullable Refused full(int count, int max, String what) {
    return count < max ? null : new Refused(Why.FULL, "there are %d %s already (dunlin.auth.users.%s-max)".formatted(count, what, what));
  }

  private AccessResult delete(AccessChange.Delete change, RangeWriter out) {
    var key = change.key();
    var held = rows.get(key);
    if (held == null) return new Refused(Why.MISSING, "there is no \"" + key.name() + '"');
    var conflict = conflict(change.expected(), key, held.row());
    if (conflict != null) return conflict;
    int uses = key.kind() == Kind.ROLE ? usesOfRoles.getOrDefault(key.name(), 0) : 0;
    if (uses > 0) return new Refused(Why.ROLES, "%d users have the role \"%s\"; take it from them first".formatted(uses, key.name()));
    remove(held, out);
    return new Done(version);
  }

  private AccessResult sweep(Sweep command, RangeWriter out) {
    for (RowKey key : command.bans().subList(0, Math.min(Sweep.BANS_MAX, command.bans().size()))) {
      var held = rows.get(key);
      if (held != null && held.row().entry() instanceof AccessEntry.Ban ban && ban.hasEnded(command.nowMillis())) remove(held, out);
    }
    return new Done(version);
  }

  private void remove(Held held, RangeWriter out) {
    var key = held.row().entry().key();
    release(held);
    rows.remove(key);
    version++;
    changes.put(version, key);
    removed.add(version);
    if (removed.size() > REMOVED_MAX) {
      floor = removed.remove();
      changes.remove(floor);
    }
    out.delete(AccessCodec.key(key));
  }

  private void hold(AccessRow row, int encodedBytes) {
    long counted = (long) encodedBytes + ROW_BYTES;
    rows.put(row.entry().key(), new Held(row, counted));
    changes.put(row.version(), row.entry().key());
    version = Math.max(version, row.version());
    bytes += counted;
    count(row, 1);
  }

  private void release(Held held) {
    changes.remove(held.row().version());
    bytes -= held.bytes();
    count(held.row(), -1);
  }

  private void count(AccessRow row, int step) {
    switch (row.entry()) {
      case AccessEntry.User user -> {
        users += step;
        for (String role : user.roles()) usesOfRoles.merge(role, step, (all, more) -> all + more == 0 ? null : all + more);
      }
      case AccessEntry.Role _ -> roles += step;
      case AccessEntry.Ban _ -> bans += step;
      case AccessEntry.Tenant _ -> tenants += step;
    }
  }

  /**
   * What has changed, as in {@link AccessClient#changes}.
   *
   * @param bytesMax of the changes, which one of them may exceed
   */
  AccessPage changes(long base, long since, int bytesMax) {
    synchronized (lock) {
      boolean fromStart = base == 0 || base < floor || since > version;
      List<AccessPage.Change> page = new ArrayList<>();
      long upTo = version;
      long taken = 0;
      for (Map.Entry<Long, RowKey> change : changes.tailMap(fromStart ? 0 : since, false).entrySet()) {
        if (taken >= bytesMax) break;
        upTo = change.getKey();
        var held = rows.get(change.getValue());
        if (held != null && held.row().version() == upTo) {
          page.add(new AccessPage.Change(change.getValue(), Optional.of(held.row())));
          taken += held.bytes();
        } else if (!fromStart) { // who begins anew has no row that was deleted
          page.add(new AccessPage.Change(change.getValue(), Optional.empty()));
          taken += ROW_BYTES;
        }
      }
      boolean complete = upTo == version;
      return new AccessPage(fromStart, complete || fromStart ? version : base, upTo, complete, secret, page);
    }
  }

  /** Some bans that have ended. */
  List<RowKey> ended(long nowMillis) {
    synchronized (lock) {
      if (bans == 0) return List.of();
      List<RowKey> ended = new ArrayList<>();
      for (Held each : rows.values()) {
        if (ended.size() == Sweep.BANS_MAX) break;
        if (each.row().entry() instanceof AccessEntry.Ban ban && ban.hasEnded(nowMillis)) ended.add(ban.key());
      }
      return ended;
    }
  }

  long bytes() {
    synchronized (lock) {
      return bytes;
    }
  }

  long version() {
    synchronized (lock) {
      return version;
    }
  }
}
