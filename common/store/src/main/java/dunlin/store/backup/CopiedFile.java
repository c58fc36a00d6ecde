package dunlin.store.backup;

import static java.util.Objects.requireNonNull;

import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One file of a backup.
 *
 * @param name without directories
 * @param sha256 in hexadecimal, lower case
 */
public record CopiedFile(String name, long bytes, String sha256) {
  private static final int CHUNK = 256 * 1024;
  private static final String NAMES = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}";

  /** Names become paths, so they are checked. */
  public CopiedFile {
    requireNonNull(name);
    requireNonNull(sha256);
    if (!name.matches(NAMES)) throw new IllegalArgumentException("the name of a file has letters, digits, '.', '_' and '-', and does not begin with '.'");
    if (bytes < 0) throw new IllegalArgumentException(name + " has " + bytes + " bytes");
  }

  /** What a file is now. Reads all of it. */
  public static CopiedFile of(Path file) throws IOException {
    return new CopiedFile(requireNonNull(file.getFileName()).toString(), Files.size(file), read(file, null));
  }

  /** All files of a directory, in the order of their names. */
  public static List<CopiedFile> allIn(Path directory) throws IOException {
    var files = new ArrayList<CopiedFile>();
    try (var found = Files.newDirectoryStream(directory)) {
      for (Path file : found) files.add(of(file));
    }
    files.sort(Comparator.comparing(CopiedFile::name));
    return files;
  }

  /**
   * Reads the file in a directory, and compares it with what this says.
   *
   * @throws StoreException naming the file when it is missing or differs
   */
  public void check(Path directory) throws IOException {
    compare(directory, null);
  }

  /** Copies the file from one directory to another, where it is on disk when this returns; compares it as {@link #check} does. */
  public void copy(Path from, Path to) throws IOException {
    Path copy = to.resolve(name);
    DataDirectory.createFile(copy);
    try (var out = FileChannel.open(copy, StandardOpenOption.WRITE)) {
      compare(from, out);
      out.force(true);
    }
  }

  private void compare(Path directory, @Nullable FileChannel copy) throws IOException {
    Path file = directory.resolve(name);
    if (!Files.isRegularFile(file)) throw new StoreException("the file " + file + " of the backup is missing");
    long found = Files.size(file);
    if (found != bytes) throw new StoreException("the file " + file + " of the backup has " + found + " bytes instead of " + bytes);
    if (!read(file, copy).equals(sha256)) throw new StoreException("the file " + file + " of the backup is damaged: its SHA-256 is not the one of the manifest");
  }

  private static String read(Path file, @Nullable FileChannel copy) throws IOException {
    var digest = sha256Digest();
    var buffer = ByteBuffer.allocate(CHUNK);
    try (var in = FileChannel.open(file)) {
      while (in.read(buffer.clear()) >= 0) {
        digest.update(buffer.flip());
        if (copy == null) continue;
        buffer.rewind();
        while (buffer.hasRemaining()) copy.write(buffer);
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  private static MessageDigest sha256Digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
