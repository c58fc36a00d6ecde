package dunlin.broker.users;

import dunlin.broker.access.AccessAction;
import dunlin.broker.access.AccessRule;
import dunlin.broker.access.AclFile;
import dunlin.broker.access.Judgement;
import dunlin.broker.access.Policy;
import dunlin.broker.access.Subject;
import dunlin.broker.limit.AddressRange;
import dunlin.broker.password.SaslPrep;
import dunlin.broker.password.ScramVerifier;
import dunlin.broker.users.AccessEntry.Ban;
import dunlin.broker.users.AccessEntry.RowKey;
import dunlin.broker.users.AccessEntry.Kind;
import dunlin.broker.users.AccessEntry.Role;
import dunlin.broker.users.AccessEntry.User;
import dunlin.model.QoS;
import dunlin.runtime.metrics.NodeBeans;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.regex.Pattern;

/** Checks what operators ask for, and makes their changes. */
public final class AccessBean implements AccessMXBean {
  /*
   * Owner: any thread that may block.
   * Bounds: the limits of names, roles and rules below; those of the range beyond them.
   * Failure: wrong input is an IllegalArgumentException; else those of AccessChanges.
   */
  private static final int PAGE_MAX = 1_000;
  private static final int NAME_BYTES_MAX = 255;
  private static final int CLIENT_ID_MAX = 65_535;
  private static final int REASON_MAX = 256;
  private static final int ROLES_MAX = 16;
  private static final int RULES_BYTES_MAX = 64 << 10;
  private static final int PASSWORD_MAX = 1_024;
  private static final int SALT_BYTES = 16;
  private static final long SECONDS_MAX = TimeUnit.DAYS.toSeconds(36_500);
  private static final Pattern ROLE_NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  private final AccessChanges changes;
  private final AccessCopy copy;
  private final Function<Subject, Policy> rules;
  private final InstantSource clock;
  private final SecureRandom random = new SecureRandom();

  /**
   * @param rules those of the file and of roles
   * @param node its name, for events
   */
  public AccessBean(AccessClient client, AccessCopy copy, Function<Subject, Policy> rules, InstantSource clock, String node) {
    this.changes = new AccessChanges(client, copy, node);
    this.copy = copy;
    this.rules = rules;
    this.clock = clock;
  }

  @Override
  public long getVersion() {
    return copy.directory().version();
  }

  @Override
  public boolean isComplete() {
    return copy.isComplete();
  }

  // ------------------------------------------------------------------------------------------------------------------------ users

  @Override
  public List<UserRow> users(String after, int max) {
    return list(Kind.USER, after, max, (_, row) -> shown(row));
  }

  @Override
  public List<UserRow> user(String name) {
    return copy.directory().row(new RowKey(Kind.USER, name)).map(AccessBean::shown).stream().toList();
  }

  private static UserRow shown(AccessRow row) {
    var user = (User) row.entry();
    return new UserRow(user.name(), !user.verifier().isEmpty(), String.join(",", user.roles()), user.enabled(), row.version());
  }

  @Override
  public long putUser(String name, String password, String roles, boolean enabled, long version) {
    String checked = userName(name);
    var named = new TreeSet<String>();
    for (String role : roles.split("[,\\s]+", -1)) if (!role.isEmpty()) named.add(roleName(role));
    if (named.size() > ROLES_MAX) throw new IllegalArgumentException("a user has at most " + ROLES_MAX + " roles, not " + named.size());
    var user = new User(checked, password.isEmpty() ? "" : verifier(password), List.copyOf(named), enabled);
    return put(user, password.isEmpty(), version);
  }

  private static String userName(String name) {
    String prepared = SaslPrep.prepare(name).orElseThrow(() -> new IllegalArgumentException("the user name is empty or has characters that are not allowed in one"));
    if (prepared.getBytes(StandardCharsets.UTF_8).length > NAME_BYTES_MAX) {
      throw new IllegalArgumentException("the user name has more than " + NAME_BYTES_MAX + " bytes");
    }
    return prepared;
  }

  private String verifier(String password) {
    if (password.length() > PASSWORD_MAX) throw new IllegalArgumentException("the password has more than " + PASSWORD_MAX + " characters");
    byte[] prepared =
        SaslPrep.prepare(password.getBytes(StandardCharsets.UTF_8))
            .orElseThrow(() -> new IllegalArgumentException("the password has characters that are not allowed in one"));
    byte[] salt = new byte[SALT_BYTES];
    random.nextBytes(salt);
    try {
      return ScramVerifier.of(prepared, ScramVerifier.ITERATIONS_MIN, salt).text();
    } finally {
      Arrays.fill(prepared, (byte) 0);
    }
  }

  @Override
  public long deleteUser(String name, long version) {
    return delete(new RowKey(Kind.USER, name), version);
  }

  // ------------------------------------------------------------------------------------------------------------------------ roles

  @Override
  public List<RoleRow> roles(String after, int max) {
    return list(Kind.ROLE, after, max, AccessBean::shown);
  }

  @Override
  public List<RoleRow> role(String name) {
    var directory = copy.directory();
    return directory.row(new RowKey(Kind.ROLE, name)).map(row -> shown(directory, row)).stream().toList();
  }

  private static RoleRow shown(Directory directory, AccessRow row) {
    var role = (Role) row.entry();
    return new RoleRow(role.name(), String.join("\n", role.rules()), directory.users(role.name()), row.version());
  }

  @Override
  public long putRole(String name, String rules, long version) {
    String checked = roleName(name);
    if (rules.length() > RULES_BYTES_MAX) throw new IllegalArgumentException("the rules have more than " + RULES_BYTES_MAX + " characters");
    List<String> lines = rules.lines().map(String::strip).filter(line -> !line.isEmpty()).toList();
    if (lines.isEmpty()) throw new IllegalArgumentException("a role has at least one rule");
    try {
      AclFile.ofRole(checked, lines);
    } catch (AclFile.MalformedException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    return put(new Role(checked, lines), false, version);
  }

  private static String roleName(String name) {
    if (!ROLE_NAME.matcher(name).matches()) {
      throw new IllegalArgumentException("the name of a role has 1 to 64 letters, digits, dots, dashes and underscores");
    }
    return name;
  }

  @Override
  public long deleteRole(String name, long version) {
    return delete(new RowKey(Kind.ROLE, name), version);
  }

  @Override
  public CheckedAccess check(AccessAction action, String topic, String user, String clientId, String tenant, int qos, boolean retain) {
    if (qos < 0 || qos > 2) throw new IllegalArgumentException("QoS " + qos);
    Policy policy = rules.apply(Subject.of(tenant, clientId, user));
    Judgement judged = Judgement.of(policy, action, topic, QoS.of(qos), retain, AccessRule::source);
    List<String> remarks = new ArrayList<>(judged.remarks());
    User known = user.isEmpty() ? null : copy.directory().user(user);
    if (known == null && !user.isEmpty()) remarks.add("there is no such user here, so it has no roles");
    if (known != null && !known.enabled()) remarks.add("the user is disabled: it has no roles, and its clients may not connect");
    return new CheckedAccess(judged.allowed(), judged.reason(), remarks);
  }

  // ------------------------------------------------------------------------------------------------------------------------- bans

  @Override
  public List<BanRow> bans(BanKind kind, String after, int max) {
    return list(kind.kind(), after, max, (_, row) -> shown(kind, row));
  }

  @Override
  public List<BanRow> ban(BanKind kind, String value) {
    return copy.directory().row(new RowKey(kind.kind(), value(kind, value))).map(row -> shown(kind, row)).stream().toList();
  }

  private static BanRow shown(BanKind kind, AccessRow row) {
    var ban = (Ban) row.entry();
    return new BanRow(kind, ban.value(), ban.until() == 0 ? "" : Instant.ofEpochMilli(ban.until()).toString(), ban.reason(), row.version());
  }

  @Override
  public long putBan(BanKind kind, String value, long seconds, String reason, long version) {
    if (seconds < 0 || seconds > SECONDS_MAX) throw new IllegalArgumentException("a ban lasts 1 to %d seconds, or 0 for no end".formatted(SECONDS_MAX));
    if (reason.length() > REASON_MAX) throw new IllegalArgumentException("the reason has more than " + REASON_MAX + " characters");
    long until = seconds == 0 ? 0 : clock.millis() + TimeUnit.SECONDS.toMillis(seconds);
    return put(new Ban(kind.kind(), value(kind, value), until, reason), false, version);
  }

  /** One value in one form, so that a ban is found again by any form of its address. */
  private static String value(BanKind kind, String value) {
    if (kind == BanKind.USER) return userName(value);
    if (kind == BanKind.ADDRESS) return network(value);
    if (value.isEmpty() || value.length() > CLIENT_ID_MAX || value.indexOf(0) >= 0) {
      throw new IllegalArgumentException("a client identifier has 1 to %d characters".formatted(CLIENT_ID_MAX));
    }
    return value;
  }

  private static String network(String value) {
    var range = AddressRange.parse(value).orElseThrow(() -> new IllegalArgumentException("neither an address nor a network such as 192.0.2.0/24"));
    byte[] first = Bans.firstBits(range.address(), range.bits());
    try {
      String host = InetAddress.getByAddress(first).getHostAddress();
      String text = range.bits() == 8 * first.length ? host : host + '/' + range.bits();
      if (AddressRange.parse(text).isEmpty()) throw new IllegalArgumentException("write a network of IPv4 addresses as 192.0.2.0/24");
      return text;
    } catch (UnknownHostException e) {
      throw new IllegalStateException("an address of " + first.length + " bytes", e);
    }
  }

  @Override
  public long deleteBan(BanKind kind, String value, long version) {
    return delete(new RowKey(kind.kind(), value(kind, value)), version);
  }

  // ------------------------------------------------------------------------------------------------------------------ all of them

  private <T> List<T> list(Kind kind, String after, int max, BiFunction<Directory, AccessRow, T> shown) {
    NodeBeans.requireMax(max, PAGE_MAX);
    var directory = copy.directory();
    List<T> page = new ArrayList<>();
    for (var each : directory.behind(new RowKey(kind, after)).entrySet()) {
      if (each.getKey().kind() != kind || page.size() == max) break;
      page.add(shown.apply(directory, each.getValue()));
    }
    return page;
  }

  private long put(AccessEntry entry, boolean keepsVerifier, long version) {
    return changes.put(entry, keepsVerifier, version);
  }

  private long delete(RowKey key, long version) {
    return changes.delete(key, version);
  }
}
