package dunlin.admin;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.admin.api.ApiAnswers.OperatorRow;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Role;
import dunlin.admin.operate.OperatorsMXBean;
import dunlin.admin.peers.OperatorCopies;
import dunlin.broker.password.SaslPrep;
import dunlin.broker.password.ScramVerifier;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Operators with a name, a password and a role, in the file {@code admin-operators} of the data directory, which has a verifier of each password. All nodes of a
 * cluster have the same, so that each lets them in whatever has become of the others.
 */
public final class Operators implements OperatorsMXBean, OperatorCopies {
  /*
   * Each change of an operator has a version: the time, or more than the version before. Of two changes with one name the later one counts on each node, so the order
   * in which nodes hear of them does not matter. What was deleted is remembered, or a node that has missed the deletion would bring it back.
   *
   * A password is compared by ITERATIONS hashes, which is what makes a stolen file of little use. So that each request does not cost them, the
   * node remembers of each operator the keyed hash of the password that was right; the key is random and only in memory.
   *
   * Owner: any thread; the table is guarded by this object. One password at a time is hashed, so guessing takes one processor at most; the
   * others wait within the deadline of their request.
   * Bounds: OPERATORS_MAX operators, as many remembered hashes, and as many of those that were deleted, of which the earliest are forgotten.
   * Failure: a file that is wrong stops the start. A change that cannot be written is refused, and does not count.
   */
  private static final Logger log = LoggerFactory.getLogger(Operators.class);
  static final String FILE = "admin-operators";
  private static final int OPERATORS_MAX = 100;
  private static final byte[] DIGEST_KEY = "operators".getBytes(StandardCharsets.US_ASCII);
  private static final int ITERATIONS = 60_000;
  private static final int SALT_BYTES = 16;
  private static final int KEY_BYTES = 32;
  private static final String FIRST = "admin";
  private static final String NAME = "[A-Za-z0-9._-]{1,64}";

  /** In the file, the role and the verifier of an operator that was deleted. */
  private static final String DELETED = "-";

  /** The version of the operator that a node makes by itself: whatever an operator does counts instead. */
  private static final long FIRST_VERSION = 1;

  /** That of the lines of earlier files, which have none. */
  private static final long UNVERSIONED = 2;

  private final Path file;
  private final byte[] key = random(KEY_BYTES);
  private final Map<ScramVerifier, byte[]> remembered = new ConcurrentHashMap<>();
  private final Semaphore hashing = new Semaphore(1, true);

  @GuardedBy("this")
  private Map<String, Entry> entries;

  private volatile Consumer<OperatorCopy> spreading = _ -> {}; // set once, early in the start

  /** An operator as of now: a changed password makes another one. */
  record Operator(Role role, ScramVerifier verifier) {}

  /** @param operator null for one that was deleted */
  private record Entry(@Nullable Operator operator, long version) {
    OperatorCopy copy(String name) {
      return operator == null ? new OperatorCopy(name, "", "", version) : new OperatorCopy(name, operator.role().label(), operator.verifier().text(), version);
    }

    boolean isNewerThan(@Nullable Entry other) {
      if (other == null || version != other.version) return other == null || version > other.version;
      return text().compareTo(other.text()) > 0;
    }

    private String text() {
      return operator == null ? "" : operator.verifier().text();
    }

    String line(String name) {
      String role = operator == null ? DELETED : operator.role().label();
      return name + ' ' + role + ' ' + (operator == null ? DELETED : text()) + ' ' + version + '\n';
    }
  }

  private Operators(Path file, Map<String, Entry> entries) {
    this.file = file;
    this.entries = entries;
  }

  /** Sets what hands a change to other nodes, and may wait for them. */
  void spreadBy(Consumer<OperatorCopy> others) {
    spreading = others;
  }

  /**
   * Reads the operators. When there is no file yet, makes the first operator, and logs its random password, this once.
   *
   * @throws SettingException when the file cannot be read or written, or is wrong
   */
  public static Operators open(Path dataDirectory) {
    Path file = dataDirectory.resolve(FILE);
    try {
      if (Files.exists(file)) return new Operators(file, read(file));
      Operators made = new Operators(file, new TreeMap<>());
      String password = AdminTokens.create();
      made.set(FIRST, new Operator(Role.ADMIN, verifier(password)), FIRST_VERSION);
      log.warn("The first operator of the admin API is {} with the password {} - it is shown only now; dunlinctl operators set changes it", FIRST, password);
      return made;
    } catch (IOException | IllegalStateException e) {
      throw new SettingException("dunlin.admin.tls.port: the operators in %s cannot be used: %s.".formatted(file, e.getMessage()), e);
    }
  }

  private static Map<String, Entry> read(Path file) throws IOException {
    Map<String, Entry> read = new TreeMap<>();
    int number = 0;
    for (String line : Files.readAllLines(file, StandardCharsets.US_ASCII)) {
      number++;
      String[] words = line.split(" ", -1);
      boolean versioned = words.length == 4 && words[3].matches("[0-9]{1,18}");
      if ((words.length != 3 && !versioned) || !words[0].matches(NAME)) throw new IOException("line " + number + " is not a name, a role, a verifier and a version");
      try {
        read.put(words[0], new Entry(operator(words[1], words[2]), versioned ? Long.parseLong(words[3]) : UNVERSIONED));
      } catch (IllegalArgumentException e) {
        throw new IOException("line " + number + ": " + e.getMessage(), e);
      }
    }
    return read;
  }

  /** Of a line or a copy; null for one that was deleted. */
  private static @Nullable Operator operator(String role, String verifier) {
    if (role.equals(DELETED) && verifier.equals(DELETED)) return null;
    return new Operator(known(role), ScramVerifier.parse(verifier));
  }

  private static Role known(String role) {
    return Role.of(role).orElseThrow(() -> new IllegalArgumentException("the role of an operator is viewer, operator or admin"));
  }

  /**
   * The operator with this name and password; empty when there is none. An unknown name takes as long as a wrong password.
   *
   * @throws InterruptedException when the deadline of the request passes while others are compared
   */
  Optional<Operator> find(String name, String password) throws InterruptedException {
    byte[] prepared = SaslPrep.prepare(password.getBytes(StandardCharsets.UTF_8)).orElseGet(() -> new byte[0]);
    if (prepared.length == 0) return Optional.empty();
    Operator operator = current(name);
    byte[] keyed = ScramVerifier.hmac(key, prepared);
    if (operator != null && MessageDigest.isEqual(keyed, remembered.get(operator.verifier()))) return Optional.of(operator);
    hashing.acquire();
    try {
      if (operator == null) {
        ScramVerifier.of(prepared, ITERATIONS, key);
        return Optional.empty();
      }
      if (!operator.verifier().matches(prepared)) return Optional.empty();
    } finally {
      hashing.release();
      Arrays.fill(prepared, (byte) 0);
    }
    remember(name, operator, keyed);
    return Optional.of(operator);
  }

  private synchronized void remember(String name, Operator operator, byte[] keyed) {
    if (isCurrent(name, operator)) remembered.put(operator.verifier(), keyed);
  }

  /** Whether neither the role nor the password of an operator that was found has changed. */
  boolean isCurrent(String name, Operator found) {
    Operator now = current(name);
    return now != null && now.equals(found);
  }

  private synchronized @Nullable Operator current(String name) {
    Entry entry = entries.get(name);
    return entry == null ? null : entry.operator();
  }

  @Override
  public synchronized List<OperatorRow> getOperators() {
    List<OperatorRow> rows = new ArrayList<>();
    entries.forEach(
        (name, entry) -> {
          if (entry.operator() != null) rows.add(new OperatorRow(name, entry.operator().role().label()));
        });
    return rows;
  }

  @Override
  public OperatorRow put(String name, String role, String password) {
    Role known = known(role);
    if (!name.matches(NAME)) throw new IllegalArgumentException("the name of an operator has 1 to 64 letters, digits, . - and _");
    spreading.accept(change(name, new Operator(known, verifier(password))));
    return new OperatorRow(name, known.label());
  }

  @Override
  public void delete(String name) {
    if (current(name) == null) throw new IllegalArgumentException("there is no such operator");
    spreading.accept(change(name, null));
  }

  private static ScramVerifier verifier(String password) {
    byte[] prepared = SaslPrep.prepare(password.getBytes(StandardCharsets.UTF_8)).orElseGet(() -> new byte[0]);
    if (prepared.length == 0 || password.length() < Endpoints.PASSWORD_MIN || password.length() > Endpoints.PASSWORD_MAX) {
      throw new IllegalArgumentException("a password has %d to %d characters, and no control characters".formatted(Endpoints.PASSWORD_MIN, Endpoints.PASSWORD_MAX));
    }
    return ScramVerifier.of(prepared, ITERATIONS, random(SALT_BYTES));
  }

  /** @param next null to delete it */
  private synchronized OperatorCopy change(String name, @Nullable Operator next) {
    if (next != null && current(name) == null && present() >= OPERATORS_MAX) throw new IllegalStateException("there are " + OPERATORS_MAX + " operators already");
    Entry before = entries.get(name);
    return set(name, next, Math.max(System.currentTimeMillis(), before == null ? 0 : before.version() + 1));
  }

  private synchronized OperatorCopy set(String name, @Nullable Operator next, long version) {
    Map<String, Entry> changed = new TreeMap<>(entries);
    Entry entry = new Entry(next, version);
    changed.put(name, entry);
    keep(changed);
    return entry.copy(name);
  }

  private synchronized long present() {
    return entries.values().stream().filter(each -> each.operator() != null).count();
  }

  @GuardedBy("this")
  private void keep(Map<String, Entry> next) {
    forgetDeleted(next);
    StringBuilder text = new StringBuilder();
    next.forEach((name, each) -> text.append(each.line(name)));
    try {
      PrivateFile.write(file, text.toString());
    } catch (IOException e) {
      throw new IllegalStateException("the operators cannot be written to " + file + ": " + e, e);
    }
    entries = next;
    remembered.keySet().retainAll(next.values().stream().map(Entry::operator).filter(Objects::nonNull).map(Operator::verifier).toList());
  }

  private static void forgetDeleted(Map<String, Entry> of) {
    List<String> deleted =
        of.entrySet().stream()
            .filter(each -> each.getValue().operator() == null)
            .sorted(Comparator.comparingLong(each -> -each.getValue().version()))
            .map(Map.Entry::getKey)
            .skip(OPERATORS_MAX)
            .toList();
    deleted.forEach(of::remove);
  }

  @Override
  public synchronized List<OperatorCopy> unless(String digest) {
    if (digest.equals(digest())) return List.of();
    return entries.entrySet().stream().map(each -> each.getValue().copy(each.getKey())).toList();
  }

  @Override
  public synchronized String digest() {
    StringBuilder text = new StringBuilder();
    entries.forEach((name, each) -> text.append(each.line(name)));
    return Base64.getEncoder().encodeToString(ScramVerifier.hmac(DIGEST_KEY, text.toString().getBytes(StandardCharsets.UTF_8)));
  }

  @Override
  public synchronized int take(String node, List<OperatorCopy> copies) {
    Map<String, Entry> next = new TreeMap<>(entries);
    List<String> taken = new ArrayList<>();
    for (OperatorCopy copy : copies) {
      Entry entry = entry(copy);
      if (entry == null || !entry.isNewerThan(next.get(copy.name()))) continue;
      next.put(copy.name(), entry);
      taken.add(copy.name());
    }
    if (taken.isEmpty()) return 0;
    Entry first = entries.get(FIRST);
    boolean logged = first != null && first.version() == FIRST_VERSION && taken.contains(FIRST);
    if (next.values().stream().filter(each -> each.operator() != null).count() > OPERATORS_MAX) {
      log.warn("The operators of node {} are not taken over: with them there would be more than {}", node, OPERATORS_MAX);
      return 0;
    }
    keep(next);
    log.info("Operators are now as node {} has them: {}", node, String.join(", ", taken));
    if (logged) log.warn("The operator {} is that of node {}: the password that was logged here is not valid any more", FIRST, node);
    return taken.size();
  }

  /** Null when no node can have made it. */
  private static @Nullable Entry entry(OperatorCopy copy) {
    if (!copy.name().matches(NAME) || copy.version() < FIRST_VERSION) return null;
    try {
      boolean deleted = copy.role().isEmpty() && copy.verifier().isEmpty();
      return new Entry(deleted ? null : new Operator(known(copy.role()), ScramVerifier.parse(copy.verifier())), copy.version());
    } catch (IllegalArgumentException wrong) {
      log.warn("An operator that another node has is left out: {}", wrong.getMessage());
      return null;
    }
  }

  private static byte[] random(int bytes) {
    byte[] random = new byte[bytes];
    new SecureRandom().nextBytes(random);
    return random;
  }
}
