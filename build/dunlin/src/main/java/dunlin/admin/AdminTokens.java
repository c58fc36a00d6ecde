package dunlin.admin;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.admin.api.Role;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who may use the admin API. The node makes a token for each run and leaves it, with the address of the API, in a file that only its own
 * user can read: who can read the data directory may administer the node. Other tokens are in the operators' token file.
 */
public final class AdminTokens {
  /*
   * A token is 256 random bits, so its plain SHA-256 is enough in a file, and guessing needs no further limit. All hashes are compared,
   * each in constant time.
   *
   * Owner: any thread; the file's tokens are guarded by this object.
   * Bounds: TOKENS_MAX tokens in a file of at most FILE_MAX bytes, which is read again only when it has changed.
   * Failure: a token file that is wrong at the start stops it. One that becomes wrong later is logged once, and the tokens that it had
   * stay valid.
   */
  private static final Logger log = LoggerFactory.getLogger(AdminTokens.class);
  private static final int TOKEN_BYTES = 32;
  private static final int TOKENS_MAX = 1_000;
  private static final int FILE_MAX = 262_144;

  /** The file in the data directory: the address in its first line, the token in its second one. */
  public static final String ACCESS_FILE = "admin-access";

  /** The name of the token in {@link #ACCESS_FILE}. */
  static final String OWN = ACCESS_FILE;

  private final String own = create();
  private final @Nullable Path file;

  @GuardedBy("this")
  private List<Known> fromFile = List.of();

  @GuardedBy("this")
  private @Nullable FileTime read;

  private record Known(String name, Role role, byte[] hash) {}

  /** @param name of the token, as its file has it; of the token of this run {@link #OWN} */
  record TokenHolder(String name, Role role) {}

  private AdminTokens(@Nullable Path file) {
    this.file = file;
  }

  /**
   * Reads the token file.
   *
   * @param file null when there is none
   * @throws SettingException when it cannot be read or a line is wrong
   */
  public static AdminTokens open(@Nullable Path file) {
    AdminTokens opened = new AdminTokens(file);
    try {
      opened.readIfChanged();
    } catch (IOException e) {
      throw new SettingException("dunlin.admin.token-file: %s cannot be used: %s.".formatted(file, e.getMessage()), e);
    }
    return opened;
  }

  /** A new token, of letters, digits, - and _. */
  public static String create() {
    byte[] random = new byte[TOKEN_BYTES];
    new SecureRandom().nextBytes(random);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(random);
  }

  /** The line of a token file for a token. */
  public static String line(String name, Role role, String token) {
    return name + ' ' + role.label() + ' ' + HexFormat.of().formatHex(hash(token));
  }

  /**
   * Leaves the address of the API and this run's token in the data directory, for those who can read it.
   *
   * @throws IllegalStateException when the file cannot be written
   */
  public void leaveAccess(Path dataDirectory, String address) {
    Path file = dataDirectory.resolve(ACCESS_FILE);
    try {
      PrivateFile.write(file, address + '\n' + own + '\n');
    } catch (IOException e) {
      throw new IllegalStateException("the access file of the admin API cannot be written to " + file + ": " + e, e);
    }
  }

  /** Whose a token is; empty when it is not valid. */
  Optional<TokenHolder> holderOf(String token) {
    byte[] hash = hash(token);
    TokenHolder found = MessageDigest.isEqual(hash, hash(own)) ? new TokenHolder(OWN, Role.ADMIN) : null;
    for (Known each : known()) if (MessageDigest.isEqual(hash, each.hash())) found = new TokenHolder(each.name(), each.role());
    return Optional.ofNullable(found);
  }

  private synchronized List<Known> known() {
    try {
      readIfChanged();
    } catch (IOException e) {
      log.warn("The token file {} cannot be used, and the tokens that it had stay valid: {}", file, e.getMessage());
    }
    return fromFile;
  }

  private synchronized void readIfChanged() throws IOException {
    if (file == null) return;
    FileTime changed = Files.getLastModifiedTime(file);
    if (changed.equals(read)) return;
    read = changed; // also when it is wrong: that is logged once for each change
    if (Files.size(file) > FILE_MAX) throw new IOException("it is larger than " + FILE_MAX + " bytes");
    List<Known> known = new ArrayList<>();
    int number = 0;
    for (String line : Files.readAllLines(file)) {
      number++;
      if (line.isBlank() || line.startsWith("#")) continue;
      known.add(parsed(line.strip(), number));
      if (known.size() > TOKENS_MAX) throw new IOException("it has more than " + TOKENS_MAX + " tokens");
    }
    fromFile = List.copyOf(known);
  }

  private static Known parsed(String line, int number) throws IOException {
    String[] words = line.split("\\s+", -1);
    if (words.length == 3 && words[2].matches("[0-9a-f]{64}")) {
      Optional<Role> role = Role.of(words[1]);
      if (role.isPresent()) return new Known(words[0], role.get(), HexFormat.of().parseHex(words[2]));
    }
    throw new IOException("line " + number + " is not a name, a role (viewer, operator, admin) and the SHA-256 of a token");
  }

  private static byte[] hash(String token) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
