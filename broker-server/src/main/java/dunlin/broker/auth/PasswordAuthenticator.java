package dunlin.broker.auth;

import dunlin.broker.auth.ScramExchange.User;
import dunlin.broker.password.SaslPrep;
import dunlin.broker.password.ScramVerifier;
import dunlin.broker.users.AccessEntry;
import dunlin.broker.users.Directory;
import dunlin.model.ReasonCode;
import dunlin.runtime.LogText;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Authenticates the users of a password file and of the {@link Directory}, by password and by SCRAM-SHA-256. A user in both is that of the file. Follows both when they change.
 */
final class PasswordAuthenticator implements Authenticator, EnhancedAuthenticator {
  /*
   * Owner: one thread calls refresh(); any thread calls the rest. Users are replaced as a whole, under the lock.
   * Bounds: the file's size, that of the directory, and that of RememberedPasswords. User names that are in neither take no memory.
   * Failure: see FollowedFile. An empty file is valid and has no users. A verifier of the directory that cannot be read is logged, and its user has no password.
   */
  private static final Logger log = LoggerFactory.getLogger(PasswordAuthenticator.class);
  private static final String KEY = "dunlin.auth.password-file";
  private static final String RELOADS = "dunlin.auth.password-file.reloads";
  private static final int SECRET_BYTES = 32;
  private static final int FAKE_SALT_BYTES = 16;
  private static final int NONCE_BYTES = 18;

  private static final Decision.Refused REFUSED =
      new Decision.Refused(ReasonCode.BAD_USER_NAME_OR_PASSWORD, "bad user name or password");

  private final SecureRandom random = new SecureRandom();
  private final byte[] ownSecret = new byte[SECRET_BYTES];
  private final RememberedPasswords passwords;
  private final @Nullable FollowedFile file;
  private final Counter knownAgain;

  private final Object lock = new Object();
  private Map<String, User> ofFile = Map.of(); // this and the following: guarded by the lock
  private byte[] secretOfFile = {};
  private Map<String, Listed> ofDirectory = Map.of();
  private byte[] secretOfDirectory = {};

  private volatile Users users = new Users(Map.of(), new byte[0], ScramVerifier.ITERATIONS_MIN);

  /** A user of the directory, and its verifier as it is there. */
  private record Listed(String verifier, User user) {}

  /** All users as they are at a time. A user that has not changed stays the same object. */
  private record Users(Map<String, User> byName, byte[] secret, int iterations) implements ScramExchange.Users {
    @Override
    public User user(String name) {
      User known = byName.get(name);
      return known != null ? known : unknown(name);
    }

    /**
     * A verifier for a user that does not exist, which looks like that of any other user. No password matches it,
     * because its keys were not computed from one.
     */
    private User unknown(String name) {
      byte[] salt = Arrays.copyOf(derived("salt", name), FAKE_SALT_BYTES);
      return new User(Identity.of(name), new ScramVerifier(iterations, salt, derived("stored", name), derived("server", name)));
    }

    private byte[] derived(String what, String name) {
      return ScramVerifier.hmac(secret, (what + ' ' + name).getBytes(StandardCharsets.UTF_8));
    }
  }

  private PasswordAuthenticator(String path, Duration remembered, MeterRegistry meters) {
    passwords = new RememberedPasswords(remembered, System::nanoTime);
    random.nextBytes(ownSecret);
    file = path.isEmpty() ? null : FollowedFile.open(KEY, path, "users", this::load, RELOADS, meters);
    knownAgain =
        Counter.builder("dunlin.auth.passwords.known")
            .description("Clients admitted by a recently verified password, without its verifier")
            .register(meters);
    Gauge.builder("dunlin.auth.passwords.remembered", passwords, RememberedPasswords::size)
        .description("Recently verified passwords that are remembered")
        .register(meters);
    if (file == null) return;
    Gauge.builder("dunlin.auth.password-file.users", this, PasswordAuthenticator::usersOfFile)
        .description("Users of the password file as it was last read")
        .register(meters);
  }

  private int usersOfFile() {
    synchronized (lock) {
      return ofFile.size();
    }
  }

  /** @throws SettingException under the same conditions as open */
  static void check(String file) {
    FollowedFile.check(KEY, file, path -> read(path).users().size());
  }

  /**
   * Reads the file, if there is one.
   *
   * @param file empty for none
   * @param remembered how long a correct password is remembered
   * @throws SettingException if the file cannot be read or is invalid, naming the file and the line
   */
  static PasswordAuthenticator open(String file, Duration remembered, MeterRegistry meters) {
    return new PasswordAuthenticator(file, remembered, meters);
  }

  /**
   * Reads the file again if it has changed and then stayed unchanged until the next call. Called about once a second.
   */
  void refresh() {
    if (file != null) file.refresh();
  }

  /** Replaces the users of the directory. */
  void replace(Directory directory) {
    synchronized (lock) {
      List<AccessEntry.User> all = directory.users();
      Map<String, Listed> next = HashMap.newHashMap(all.size());
      for (AccessEntry.User each : all) {
        if (each.verifier().isEmpty() || !each.enabled()) continue;
        Listed before = ofDirectory.get(each.name());
        if (before != null && before.verifier().equals(each.verifier())) next.put(each.name(), before);
        else read(each).ifPresent(verifier -> next.put(each.name(), new Listed(each.verifier(), new User(Identity.of(each.name()), verifier))));
      }
      ofDirectory = next;
      secretOfDirectory = directory.secret();
      join();
    }
  }

  private static Optional<ScramVerifier> read(AccessEntry.User user) {
    try {
      return Optional.of(ScramVerifier.parse(user.verifier()));
    } catch (IllegalArgumentException e) {
      log.error("This version of Dunlin cannot read the verifier of the user {}: {}", LogText.quoted(user.name()), e.getMessage());
      return Optional.empty();
    }
  }

  /** Holds the lock. */
  private void join() {
    Map<String, User> all = HashMap.newHashMap(ofFile.size() + ofDirectory.size());
    ofDirectory.forEach((name, listed) -> all.put(name, listed.user()));
    all.putAll(ofFile);
    byte[] secret = secretOfFile.length > 0 ? secretOfFile : secretOfDirectory.length > 0 ? secretOfDirectory : ownSecret;
    users = new Users(all, secret, commonIterations(all));
  }

  private static PasswordFile.Content read(Path path) throws IOException {
    try {
      return PasswordFile.read(path);
    } catch (PasswordFile.MalformedException e) {
      throw new FollowedFile.MalformedException(String.valueOf(e.getMessage()));
    }
  }

  private int load(Path path) throws IOException {
    PasswordFile.Content content = read(path);
    String tooWide = PasswordFile.tooWide(path);
    if (!tooWide.isEmpty()) log.warn("{}: {} has permissions {}, it should have rw-r----- at most", KEY, path, tooWide);
    Map<String, User> byName = HashMap.newHashMap(content.users().size());
    content.users().forEach((name, verifier) -> byName.put(name, new User(Identity.of(name), verifier)));
    synchronized (lock) {
      ofFile = byName;
      secretOfFile = content.saltSecret();
      join();
    }
    passwords.clear();
    return byName.size();
  }

  /** The most frequent number of iterations, so that an unknown user looks like most users. */
  private static int commonIterations(Map<String, User> users) {
    Map<Integer, Integer> counts = new HashMap<>();
    for (User each : users.values()) counts.merge(each.verifier().iterations(), 1, Integer::sum);
    return counts.entrySet().stream()
        .max(Map.Entry.<Integer, Integer>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
        .map(Map.Entry::getKey)
        .orElse(ScramVerifier.ITERATIONS_MIN);
  }

  /** Whether there is a user of this name who has a password. */
  boolean knows(String userName) {
    return SaslPrep.prepare(userName).filter(users.byName()::containsKey).isPresent();
  }

  /** Takes as long for an unknown user as for a known one. */
  @Override
  public CompletionStage<Decision> authenticate(Credentials credentials) {
    return CompletableFuture.completedFuture(decide(credentials));
  }

  /**
   * The identity of the client if the same password was verified recently, by the present users. Cheap enough for event
   * loops.
   */
  Optional<Identity> known(Credentials credentials) {
    // Verifiers that were read at different times are not equal, so a changed user is not the one that was remembered.
    Optional<User> known = passwords.find(credentials).filter(user -> user.equals(users.byName().get(user.identity().user())));
    if (known.isPresent()) knownAgain.increment();
    return known.map(User::identity);
  }

  /**
   * Uses a copy of the password: the original is overwritten when the client disconnects, and zeros must not be
   * remembered as a correct password.
   */
  private Decision decide(Credentials shown) {
    Optional<byte[]> copy = shown.password().map(byte[]::clone);
    try {
      return judge(new Credentials(shown.peer(), shown.version(), shown.clientId(), shown.userName(), copy));
    } finally {
      copy.ifPresent(bytes -> Arrays.fill(bytes, (byte) 0));
    }
  }

  private Decision judge(Credentials credentials) {
    String name = credentials.userName().flatMap(SaslPrep::prepare).orElse("");
    Optional<byte[]> password = credentials.password().flatMap(SaslPrep::prepare);
    if (name.isEmpty() || password.isEmpty()) return REFUSED;
    Users now = users;
    User user = now.user(name);
    if (!user.verifier().matches(password.get())) return REFUSED;
    passwords.add(credentials, user);
    return new Decision.Accepted(user.identity());
  }

  @Override
  public String method() {
    return ScramVerifier.METHOD;
  }

  @Override
  public Exchange begin(Credentials credentials) {
    byte[] nonce = new byte[NONCE_BYTES];
    random.nextBytes(nonce);
    // An exchange uses the users as of its begin: a change of the file does not affect it.
    return new ScramExchange(users, Base64.getEncoder().encodeToString(nonce));
  }
}
