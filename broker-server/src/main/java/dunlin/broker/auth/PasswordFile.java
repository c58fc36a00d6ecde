package dunlin.broker.auth;

import dunlin.broker.password.SaslPrep;
import dunlin.broker.password.ScramVerifier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The password file: one line for each user, with a verifier instead of the password.
 *
 * <pre>
 *   # a comment
 *   :SALTS$dGhlIHNlY3JldA==
 *   sensor-17:SCRAM-SHA-256$4096:&lt;salt&gt;$&lt;StoredKey&gt;:&lt;ServerKey&gt;
 * </pre>
 *
 * <p>The line without a name has the secret from which the salts of unknown users are derived. With it, these salts
 * are the same at every start and on every node with this file, like the salts of real users. Without it, they change
 * with every start.
 */
public final class PasswordFile {
  /*
   * Owner: stateless; the name of the new file excludes concurrent edits by several processes.
   * Bounds: SIZE_MAX bytes. A larger file is refused.
   * Failure: an invalid line makes the whole file invalid; the message names the line. After an edit there is either
   * the old file or the new one.
   */
  private static final int SIZE_MAX = 64 * 1_024 * 1_024;
  private static final int SALT_BYTES = 16;
  private static final int SECRET_BYTES = 32;
  private static final int NAME_BYTES_MAX = 65_535;
  private static final String SALTS = ":SALTS$";
  private static final String VERIFIER = ':' + ScramVerifier.METHOD + '$';
  private static final Set<PosixFilePermission> WIDEST = PosixFilePermissions.fromString("rw-r-----");
  private static final Set<PosixFilePermission> NEW = PosixFilePermissions.fromString("rw-------");

  private PasswordFile() {}

  /**
   * The content of a password file: verifiers by prepared user names, and the secret for the salts of unknown users,
   * empty for none.
   */
  record Content(Map<String, ScramVerifier> users, byte[] saltSecret) {}

  /** A password file is invalid. The message says where, but does not quote the file. */
  public static final class MalformedException extends RuntimeException {
    MalformedException(String message) {
      super(message);
    }
  }

  /**
   * Reads a file.
   *
   * @throws MalformedException naming the line
   * @throws IOException if it cannot be read
   */
  static Content read(Path file) throws IOException {
    if (Files.size(file) > SIZE_MAX) throw new MalformedException("larger than " + SIZE_MAX + " bytes");
    return parse(Files.readAllBytes(file));
  }

  static Content parse(byte[] bytes) {
    Map<String, ScramVerifier> users = new HashMap<>();
    byte[] secret = {};
    int number = 0;
    for (String line : lines(bytes)) {
      number++;
      if (line.isBlank() || line.startsWith("#")) continue;
      if (line.startsWith(SALTS)) {
        if (secret.length > 0) throw malformed(number, "a second :SALTS line");
        secret = secret(line, number);
        continue;
      }
      String name = name(line, number);
      ScramVerifier verifier;
      try {
        verifier = ScramVerifier.parse(line.substring(line.lastIndexOf(VERIFIER) + 1));
      } catch (IllegalArgumentException e) {
        throw malformed(number, String.valueOf(e.getMessage()));
      }
      if (users.put(name, verifier) != null) throw malformed(number, "the same user as in an earlier line");
    }
    return new Content(Map.copyOf(users), secret);
  }

  private static List<String> lines(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString().lines().toList();
    } catch (CharacterCodingException _) {
      throw new MalformedException("not UTF-8");
    }
  }

  private static byte[] secret(String line, int number) {
    try {
      byte[] secret = Base64.getDecoder().decode(line.substring(SALTS.length()));
      if (secret.length == SECRET_BYTES) return secret;
    } catch (IllegalArgumentException _) {
      // Reported below, without the text.
    }
    throw malformed(number, "not of the form :SALTS$<32 bytes in Base64>");
  }

  /** Names may contain colons, so the last possible beginning of a verifier counts. */
  private static String name(String line, int number) {
    int end = line.lastIndexOf(VERIFIER);
    if (end < 0) throw malformed(number, "not of the form <user>" + VERIFIER + "...");
    return SaslPrep.prepare(line.substring(0, end))
        .orElseThrow(() -> malformed(number, "the user's name is empty or has characters that are not allowed in names"));
  }

  private static MalformedException malformed(int line, String what) {
    return new MalformedException("line " + line + ": " + what);
  }

  /** The permissions beyond 0640, which a file with secrets should not exceed, as text; empty for none. */
  static String tooWide(Path file) throws IOException {
    var view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
    if (view == null) return "";
    Set<PosixFilePermission> all = view.readAttributes().permissions();
    return WIDEST.containsAll(all) ? "" : PosixFilePermissions.toString(all);
  }

  /**
   * Adds a user or changes its password. A missing file is created with permissions for its owner only.
   *
   * @param password in UTF-8
   * @throws IllegalArgumentException if the name or the password is empty or has characters that are not allowed
   * @throws MalformedException if the file is not a password file; it is not changed
   */
  public static void put(Path file, String user, byte[] password, int iterations) throws IOException {
    String name = checkedName(user);
    byte[] prepared =
        SaslPrep.prepare(password)
            .orElseThrow(() -> new IllegalArgumentException("the password is empty or has characters that are not allowed in one"));
    SecureRandom random = new SecureRandom();
    String line = name + ':' + ScramVerifier.of(prepared, iterations, bytes(random, SALT_BYTES)).text();
    List<String> lines;
    if (Files.exists(file)) {
      lines = new ArrayList<>(checkedLines(file));
    } else {
      lines = new ArrayList<>();
      lines.add(SALTS + Base64.getEncoder().encodeToString(bytes(random, SECRET_BYTES)));
    }
    int at = indexOf(lines, name);
    if (at < 0) lines.add(line);
    else lines.set(at, line);
    write(file, lines);
  }

  /**
   * Removes a user.
   *
   * @return whether the user existed
   */
  public static boolean delete(Path file, String user) throws IOException {
    List<String> lines = new ArrayList<>(checkedLines(file));
    int at = indexOf(lines, checkedName(user));
    if (at < 0) return false;
    lines.remove(at);
    write(file, lines);
    return true;
  }

  private static String checkedName(String user) {
    String name =
        SaslPrep.prepare(user)
            .orElseThrow(() -> new IllegalArgumentException("the user's name is empty or has characters that are not allowed in one"));
    if (name.startsWith("#") || name.contains(VERIFIER) || name.isBlank()) {
      throw new IllegalArgumentException("a user's name may not begin with # or look like a line of the file");
    }
    if (name.getBytes(StandardCharsets.UTF_8).length > NAME_BYTES_MAX) throw new IllegalArgumentException("the user's name is too long");
    return name;
  }

  private static byte[] bytes(SecureRandom random, int count) {
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  private static List<String> checkedLines(Path file) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    parse(bytes);
    return lines(bytes);
  }

  private static int indexOf(List<String> lines, String name) {
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      int end = line.startsWith("#") ? -1 : line.lastIndexOf(VERIFIER);
      if (end > 0 && SaslPrep.prepare(line.substring(0, end)).filter(name::equals).isPresent()) return i;
    }
    return -1;
  }

  /** Replaces the file by a new one. If it is a symbolic link, the target is replaced, not the link. */
  private static void write(Path file, List<String> lines) throws IOException {
    boolean exists = Files.exists(file);
    Path target = exists ? file.toRealPath() : file.toAbsolutePath();
    Path fresh = target.resolveSibling("." + target.getFileName() + ".new");
    byte[] bytes = (String.join("\n", lines) + '\n').getBytes(StandardCharsets.UTF_8);
    var options = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    try (FileChannel channel = FileChannel.open(fresh, options, PosixFilePermissions.asFileAttribute(NEW))) {
      ByteBuffer rest = ByteBuffer.wrap(bytes);
      while (rest.hasRemaining()) channel.write(rest);
      channel.force(true);
    } catch (FileAlreadyExistsException e) {
      throw new IOException(fresh + " exists: another change is in progress, or an earlier one failed. If none is in progress, remove the file", e);
    }
    try {
      if (exists) keepOwner(target, fresh);
      Files.move(fresh, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(fresh);
    }
  }

  /**
   * Keeps owner, group and permissions up to 0640, so that the broker can still read the file if it runs as another
   * user.
   */
  private static void keepOwner(Path from, Path to) throws IOException {
    PosixFileAttributes old = Files.readAttributes(from, PosixFileAttributes.class);
    var view = Files.getFileAttributeView(to, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
    PosixFileAttributes own = view.readAttributes();
    if (!own.owner().equals(old.owner())) view.setOwner(old.owner());
    if (!own.group().equals(old.group())) view.setGroup(old.group());
    Set<PosixFilePermission> permissions = EnumSet.noneOf(PosixFilePermission.class);
    permissions.addAll(old.permissions());
    permissions.retainAll(WIDEST);
    permissions.addAll(NEW);
    view.setPermissions(permissions);
  }
}
