package dunlin.admin;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.admin.api.ApiAnswers.OperatorRow;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Role;
import dunlin.admin.operate.OperatorsMXBean;
import dunlin.broker.password.SaslPrep;
import dunlin.broker.password.ScramVerifier;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Operators with a name, a password and a role, in the file {@code admin-operators} of the data directory, which has a verifier of each password. */
public final class Operators implements OperatorsMXBean {
  /*
   * A password is compared by ITERATIONS hashes, which is what makes a stolen file of little use. So that each request does not cost them, the
   * node remembers of each operator the keyed hash of the password that was right; the key is random and only in memory.
   *
   * Owner: any thread; the table is guarded by this object. One password at a time is hashed, so guessing takes one processor at most; the
   * others wait within the deadline of their request.
   * Bounds: OPERATORS_MAX operators, and as many remembered hashes.
   * Failure: a file that is wrong stops the start. A change that cannot be written is refused, and does not count.
   */
  private static final Logger log = LoggerFactory.getLogger(Operators.class);
  static final String FILE = "admin-operators";
  private static final int OPERATORS_MAX = 100;
  private static final int ITERATIONS = 60_000;
  private static final int SALT_BYTES = 16;
  private static final int KEY_BYTES = 32;
  private static final String FIRST = "admin";
  private static final String NAME = "[A-Za-z0-9._-]{1,64}";

  private final Path file;
  private final byte[] key = random(KEY_BYTES);
  private final Map<ScramVerifier, byte[]> remembered = new ConcurrentHashMap<>();
  private final Semaphore hashing = new Semaphore(1, true);

  @GuardedBy("this")
  private Map<String, Operator> operators;

  /** An operator as of now: a changed password makes another one. */
  record Operator(Role role, ScramVerifier verifier) {}

  private Operators(Path file, Map<String, Operator> operators) {
    this.file = file;
    this.operators = operators;
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
      made.put(FIRST, Role.ADMIN.label(), password);
      log.warn("The first operator of the admin API is {} with the password {} - it is shown only now; dunlinctl operators set changes it", FIRST, password);
      return made;
    } catch (IOException | IllegalStateException e) {
      throw new SettingException("dunlin.admin.tls.port: the operators in %s cannot be used: %s.".formatted(file, e.getMessage()), e);
    }
  }

  private static Map<String, Operator> read(Path file) throws IOException {
    Map<String, Operator> read = new TreeMap<>();
    int number = 0;
    for (String line : Files.readAllLines(file, StandardCharsets.US_ASCII)) {
      number++;
      String[] words = line.split(" ", -1);
      Optional<Role> role = words.length == 3 ? Role.of(words[1]) : Optional.empty();
      if (role.isEmpty() || !words[0].matches(NAME)) throw new IOException("line " + number + " is not a name, a role and a verifier");
      try {
        read.put(words[0], new Operator(role.get(), ScramVerifier.parse(words[2])));
      } catch (IllegalArgumentException e) {
        throw new IOException("line " + number + ": " + e.getMessage(), e);
      }
    }
    return read;
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
    return operators.get(name);
  }

  @Override
  public synchronized List<OperatorRow> getOperators() {
    return operators.entrySet().stream().map(each -> new OperatorRow(each.getKey(), each.getValue().role().label())).toList();
  }

  @Override
  public synchronized OperatorRow put(String name, String role, String password) {
    Role known = Role.of(role).orElseThrow(() -> new IllegalArgumentException("the role of an operator is viewer, operator or admin"));
    if (!name.matches(NAME)) throw new IllegalArgumentException("the name of an operator has 1 to 64 letters, digits, . - and _");
    byte[] prepared = SaslPrep.prepare(password.getBytes(StandardCharsets.UTF_8)).orElseGet(() -> new byte[0]);
    if (prepared.length == 0 || password.length() < Endpoints.PASSWORD_MIN || password.length() > Endpoints.PASSWORD_MAX) {
      throw new IllegalArgumentException("a password has %d to %d characters, and no control characters".formatted(Endpoints.PASSWORD_MIN, Endpoints.PASSWORD_MAX));
    }
    if (!operators.containsKey(name) && operators.size() >= OPERATORS_MAX) throw new IllegalStateException("there are " + OPERATORS_MAX + " operators already");
    Map<String, Operator> next = new TreeMap<>(operators);
    next.put(name, new Operator(known, ScramVerifier.of(prepared, ITERATIONS, random(SALT_BYTES))));
    keep(next);
    return new OperatorRow(name, known.label());
  }

  @Override
  public synchronized void delete(String name) {
    if (!operators.containsKey(name)) throw new IllegalArgumentException("there is no such operator");
    Map<String, Operator> next = new TreeMap<>(operators);
    next.remove(name);
    keep(next);
  }

  @GuardedBy("this")
  private void keep(Map<String, Operator> next) {
    StringBuilder text = new StringBuilder();
    next.forEach((name, each) -> text.append(name).append(' ').append(each.role().label()).append(' ').append(each.verifier().text()).append('\n'));
    try {
      PrivateFile.write(file, text.toString());
    } catch (IOException e) {
      throw new IllegalStateException("the operators cannot be written to " + file + ": " + e, e);
    }
    operators = next;
    remembered.keySet().retainAll(next.values().stream().map(Operator::verifier).toList());
  }

  private static byte[] random(int bytes) {
    byte[] random = new byte[bytes];
    new SecureRandom().nextBytes(random);
    return random;
  }
}
