package dunlin.broker.auth;

import dunlin.broker.auth.ScramExchange.User;
import dunlin.model.ReasonCode;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The users of a password file, by password and by SCRAM-SHA-256; follows the file when it changes. */
final class FileAuthenticator implements Authenticator, EnhancedAuthenticator {
  /*
   * Owner: refresh() is for one thread; the rest is for any.
   * Bounds: the file's size, and that of RememberedPasswords. What is not in the file has no memory here.
   * Failure: a file that is wrong when the node starts is a SettingException. One that is wrong later is warned about and counted, and the
   *   users of the last good one stay, also when it is gone. An empty file is a good one, and has no users.
   */
  private static final Logger log = LoggerFactory.getLogger(FileAuthenticator.class);
  private static final String KEY = "dunlin.auth.password-file";
  private static final int SECRET_BYTES = 32;
  private static final int FAKE_SALT_BYTES = 16;
  private static final int NONCE_BYTES = 18;

  private static final Decision.Refused REFUSED =
      new Decision.Refused(ReasonCode.BAD_USER_NAME_OR_PASSWORD, "bad user name or password");

  private final Path path;
  private final SecureRandom random = new SecureRandom();
  private final byte[] ownSecret = new byte[SECRET_BYTES];
  private final RememberedPasswords passwords;
  private final Counter reloaded;
  private final Counter reloadsFailed;
  private final Counter knownAgain;

  /** Of what was read last. */
  private @Nullable Stamp taken;

  /** Of what was seen last. */
  private @Nullable Stamp seen;

  private String lastWarning = "";

  /** Replaced by refresh(), as a whole. */
  private volatile Users users = new Users(0, Map.of(), new byte[0], ScramVerifier.ITERATIONS_MIN);

  /** By which a change of the file is known. */
  private record Stamp(@Nullable Object fileKey, FileTime modified, long size) {}

  /**
   * What the file said at one time.
   *
   * @param reading the number of that time
   */
  private record Users(long reading, Map<String, User> byName, byte[] secret, int iterations) implements ScramExchange.Users {
    @Override
    public User user(String name) {
      User known = byName.get(name);
      return known != null ? known : unknown(name);
    }

    /** As different from other users as these are from each other, and no more. No password fits keys that were not computed from one. */
    private User unknown(String name) {
      byte[] salt = Arrays.copyOf(derived("salt", name), FAKE_SALT_BYTES);
      return new User(Identity.of(name), new ScramVerifier(iterations, salt, derived("stored", name), derived("server", name)));
    }

    private byte[] derived(String what, String name) {
      return ScramVerifier.hmac(secret, (what + ' ' + name).getBytes(StandardCharsets.UTF_8));
    }
  }

  private FileAuthenticator(Path path, Duration remembered, MeterRegistry meters) {
    this.path = path;
    passwords = new RememberedPasswords(remembered, System::nanoTime);
    random.nextBytes(ownSecret);
    reloaded = reloads(meters, "loaded");
    reloadsFailed = reloads(meters, "failed");
    knownAgain =
        Counter.builder("dunlin.auth.passwords.known")
            .description("Clients let in by a password that was found right not long ago, without a look at the password file's verifiers")
            .register(meters);
    Gauge.builder("dunlin.auth.passwords.remembered", passwords, RememberedPasswords::size)
        .description("Passwords that were found right not long ago and are known again")
        .register(meters);
    Gauge.builder("dunlin.auth.password-file.users", this, each -> each.users.byName().size())
        .description("Users of the password file as it was last read")
        .register(meters);
  }

  private static Counter reloads(MeterRegistry meters, String result) {
    return Counter.builder("dunlin.auth.password-file.reloads")
        .description("Times that a changed password file was read")
        .tag("result", result)
        .register(meters);
  }

  /** @throws SettingException as open does */
  static void check(String file) {
    try {
      PasswordFile.read(Path.of(file));
    } catch (IOException | PasswordFile.MalformedException | InvalidPathException e) {
      throw unusable(file, e);
    }
  }

  /**
   * Reads the file.
   *
   * @param remembered how long a password that was found right is known again
   * @throws SettingException when that cannot be done, naming the file and the line
   */
  static FileAuthenticator open(String file, Duration remembered, MeterRegistry meters) {
    try {
      FileAuthenticator authenticator = new FileAuthenticator(Path.of(file), remembered, meters);
      authenticator.taken = authenticator.stamp();
      authenticator.load();
      return authenticator;
    } catch (IOException | PasswordFile.MalformedException | InvalidPathException e) {
      throw unusable(file, e);
    }
  }

  private static SettingException unusable(String file, Exception cause) {
    return new SettingException(KEY + ": " + file + ": " + reason(cause), cause);
  }

  private static String reason(Exception e) {
    return switch (e) {
      case NoSuchFileException _ -> "there is no such file";
      case AccessDeniedException _ -> "may not be read";
      default -> String.valueOf(e.getMessage());
    };
  }

  /** Reads the file again when it has changed, and has then stayed the same for one call. Called about once a second. */
  void refresh() {
    try {
      Stamp now = stamp();
      boolean settled = now.equals(seen);
      seen = now;
      if (now.equals(taken)) lastWarning = "";
      if (now.equals(taken) || !settled) return; // a file that is just being written is not looked at
      taken = now;
      load();
      lastWarning = "";
      reloaded.increment();
      log.info("read {} again: {} users", path, users.byName().size());
    } catch (IOException | PasswordFile.MalformedException e) {
      warn(reason(e));
    } catch (RuntimeException e) { // a fault of ours, which must not end the reloading
      warn(e.toString());
    }
  }

  /** Once for each fault: a file that stays as it is need not be told of every second. */
  private void warn(String reason) {
    if (reason.equals(lastWarning)) return;
    lastWarning = reason;
    reloadsFailed.increment();
    log.warn("{}: {} was not loaded, the previous users remain in force: {}", KEY, path, reason);
  }

  /** Follows links: in Kubernetes a changed file is another target of the same link. */
  private Stamp stamp() throws IOException {
    var attributes = Files.readAttributes(path, BasicFileAttributes.class);
    return new Stamp(attributes.fileKey(), attributes.lastModifiedTime(), attributes.size());
  }

  private void load() throws IOException {
    PasswordFile.Content content = PasswordFile.read(path);
    String tooWide = PasswordFile.tooWide(path);
    if (!tooWide.isEmpty()) log.warn("{}: {} has permissions {}, it should have rw-r----- at most", KEY, path, tooWide);
    Map<String, User> byName = HashMap.newHashMap(content.users().size());
    content.users().forEach((name, verifier) -> byName.put(name, new User(Identity.of(name), verifier)));
    byte[] secret = content.saltSecret().length > 0 ? content.saltSecret() : ownSecret;
    users = new Users(users.reading + 1, byName, secret, commonIterations(content.users()));
    passwords.clear();
  }

  /** The most frequent number, so that a name that does not exist looks like most that do. */
  private static int commonIterations(Map<String, ScramVerifier> users) {
    Map<Integer, Integer> counts = new HashMap<>();
    for (ScramVerifier each : users.values()) counts.merge(each.iterations(), 1, Integer::sum);
    return counts.entrySet().stream()
        .max(Map.Entry.<Integer, Integer>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
        .map(Map.Entry::getKey)
        .orElse(ScramVerifier.ITERATIONS_MIN);
  }

  /** Takes as long for a user that does not exist as for one that does. */
  @Override
  public CompletionStage<Decision> authenticate(Credentials credentials) {
    return CompletableFuture.completedFuture(decide(credentials));
  }

  /** Who this is, when the same password was found right not long ago, by the users of now. Costs little, so it is for any thread. */
  Optional<Identity> known(Credentials credentials) {
    Optional<Identity> known = passwords.find(users.reading, credentials);
    if (known.isPresent()) knownAgain.increment();
    return known;
  }

  /** With a copy of the password: the client's is overwritten when that is gone, and zeros must not be remembered as right. */
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
    passwords.add(now.reading, credentials, user.identity());
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
    // Users of now: a change of the file in the middle of an exchange does not split it.
    return new ScramExchange(users, Base64.getEncoder().encodeToString(nonce));
  }
}
