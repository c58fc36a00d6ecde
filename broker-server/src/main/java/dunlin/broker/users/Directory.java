package dunlin.broker.users;

import dunlin.broker.access.AccessRule;
import dunlin.broker.access.AclFile;
import dunlin.broker.access.RoleRules;
import dunlin.broker.users.AccessEntry.RowKey;
import dunlin.broker.users.AccessEntry.Kind;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All users, roles, bans and tenants at one version. */
public final class Directory {
  /*
   * Immutable. Bounds: those of the range.
   */
  private static final Logger log = LoggerFactory.getLogger(Directory.class);

  private final NavigableMap<RowKey, AccessRow> rows;
  private final long version;
  private final byte[] secret;
  private final RoleRules rules;
  private final Bans bans;

  private Directory(NavigableMap<RowKey, AccessRow> rows, long version, byte[] secret, RoleRules rules, Bans bans) {
    this.rows = rows;
    this.version = version;
    this.secret = secret;
    this.rules = rules.of(user -> rolesOf(rows, user));
    this.bans = bans;
  }

  private static List<String> rolesOf(NavigableMap<RowKey, AccessRow> rows, String user) {
    var row = rows.get(new RowKey(Kind.USER, user));
    return row != null && row.entry() instanceof AccessEntry.User found && found.enabled() ? found.roles() : List.of();
  }

  /** No users, roles or bans. */
  static Directory empty() {
    return new Directory(new TreeMap<>(), 0, new byte[0], RoleRules.none(), new Bans(List.of()));
  }

  /**
   * Another version.
   *
   * @param all kept; must not be changed afterwards
   * @param roles whether roles may have changed
   * @param banned whether bans may have changed
   */
  Directory next(NavigableMap<RowKey, AccessRow> all, long newVersion, byte[] newSecret, boolean roles, boolean banned) {
    return new Directory(all, newVersion, newSecret, roles ? rulesOf(all) : rules, banned ? bansOf(all) : bans);
  }

  private static RoleRules rulesOf(NavigableMap<RowKey, AccessRow> rows) {
    TreeMap<String, List<AccessRule>> roles = new TreeMap<>();
    for (AccessRow row : rows.values()) {
      if (row.entry() instanceof AccessEntry.Role(var name, var texts)) roles.put(name, parsed(name, texts));
    }
    return RoleRules.of(roles, user -> rolesOf(rows, user));
  }

  /** They were read before they were stored, by a node that may have had a later version of Dunlin. */
  private static List<AccessRule> parsed(String role, List<String> texts) {
    try {
      return AclFile.ofRole(role, texts);
    } catch (AclFile.MalformedException e) {
      log.error("This version of Dunlin cannot read the rules of the role \"{}\"; users with it may do nothing: {}", role, e.getMessage());
      return AclFile.ofRole(role, List.of("deny all #"));
    }
  }

  private static Bans bansOf(NavigableMap<RowKey, AccessRow> rows) {
    List<AccessEntry.Ban> all = new ArrayList<>();
    for (AccessRow row : rows.values()) if (row.entry() instanceof AccessEntry.Ban ban) all.add(ban);
    return new Bans(all);
  }

  public long version() {
    return version;
  }

  /** Something that only nodes of this cluster know; empty while there was no change yet. */
  public byte[] secret() {
    return secret.clone();
  }

  /** What users may do by their roles. */
  public RoleRules rules() {
    return rules;
  }

  /** A user; null if there is none of this name. */
  public AccessEntry.@Nullable User user(String name) {
    var row = rows.get(new RowKey(Kind.USER, name));
    return row != null && row.entry() instanceof AccessEntry.User user ? user : null;
  }

  /** In which version a user was created; 0 if there is none of this name. */
  public long since(String user) {
    var row = rows.get(new RowKey(Kind.USER, user));
    return row == null ? 0 : row.since();
  }

  /** All users. */
  public List<AccessEntry.User> users() {
    List<AccessEntry.User> all = new ArrayList<>();
    for (AccessRow row : behind(new RowKey(Kind.USER, "")).values()) {
      if (!(row.entry() instanceof AccessEntry.User user)) break;
      all.add(user);
    }
    return all;
  }

  /** How many users have a role. */
  int users(String role) {
    int count = 0;
    for (AccessEntry.User user : users()) if (user.roles().contains(role)) count++;
    return count;
  }

  /** The ban that a client falls under. */
  public Optional<AccessEntry.Ban> ban(String clientId, String user, SocketAddress address, long nowMillis) {
    return bans.find(clientId, user, address, nowMillis);
  }

  public Optional<AccessRow> row(RowKey key) {
    return Optional.ofNullable(rows.get(key));
  }

  /** The rows behind a key, in order. */
  Map<RowKey, AccessRow> behind(RowKey key) {
    return rows.tailMap(key, false);
  }

  /**
   * The tenants in the order of their names.
   *
   * @param after the name behind which they begin; empty for all
   */
  public Stream<AccessRow> tenants(String after) {
    return behind(new RowKey(Kind.TENANT, after)).values().stream().takeWhile(row -> row.entry() instanceof AccessEntry.Tenant);
  }

  /** The number of rows of some kinds. */
  int count(Kind first, Kind last) {
    return rows.subMap(new RowKey(first, ""), true, new RowKey(last, "\uFFFF"), true).size();
  }
}
