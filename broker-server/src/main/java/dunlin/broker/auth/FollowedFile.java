package dunlin.broker.auth;

import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A file that a setting names, which is read again when it changes. */
final class FollowedFile {
  /*
   * Owner: one thread, which calls refresh().
   * Bounds: those of its content.
   * Failure: at the start it is a SettingException. Later it is logged and counted, and what was read last remains in
   * force; so it does when the file disappears. A file that could not be read, such as for want of file descriptors, is
   * read again at the next look; one with invalid content when it has changed.
   */
  private static final Logger log = LoggerFactory.getLogger(FollowedFile.class);

  private final String key;
  private final Path path;
  private final String content;
  private final Load load;
  private final Counter reloaded;
  private final Counter reloadsFailed;

  /** The stamp of the file that was read last. */
  private @Nullable Stamp taken;

  /** The stamp of the file that was seen last. */
  private @Nullable Stamp seen;

  private String lastWarning = "";

  /** Identifies a version of the file; a change of the file changes it. */
  private record Stamp(@Nullable Object fileKey, FileTime modified, long size) {}

  /** The content of a file is invalid; the message says where. */
  static final class MalformedException extends RuntimeException {
    MalformedException(String message) {
      super(message);
    }
  }

  /** Reads a file and uses its content. */
  interface Load {
    /**
     * @return the number of its users or rules
     * @throws MalformedException if the content is invalid; what was read before is used on
     */
    int read(Path path) throws IOException;
  }

  private FollowedFile(String key, Path path, String content, Load load, String counter, MeterRegistry meters) {
    this.key = key;
    this.path = path;
    this.content = content;
    this.load = load;
    this.reloaded = reloads(meters, counter, "loaded");
    this.reloadsFailed = reloads(meters, counter, "failed");
  }

  private Counter reloads(MeterRegistry meters, String counter, String result) {
    return Counter.builder(counter)
        .description("Times that a changed file of " + content + " was read")
        .tag("result", result)
        .register(meters);
  }

  /**
   * Reads the file for the first time.
   *
   * @param key the setting that names it
   * @param content what it has, for the log
   * @param counter counts how often it is read again
   * @throws SettingException if it cannot be read or is invalid, naming the file and the place
   */
  static FollowedFile open(String key, String file, String content, Load load, String counter, MeterRegistry meters) {
    try {
      FollowedFile followed = new FollowedFile(key, Path.of(file), content, load, counter, meters);
      followed.taken = followed.stamp();
      load.read(followed.path);
      return followed;
    } catch (IOException | MalformedException | InvalidPathException e) {
      throw unusable(key, file, e);
    }
  }

  /** Reads the file only to find out whether that works; throws as {@link #open} does. */
  static void check(String key, String file, Load load) {
    try {
      load.read(Path.of(file));
    } catch (IOException | MalformedException | InvalidPathException e) {
      throw unusable(key, file, e);
    }
  }

  private static SettingException unusable(String key, String file, Exception cause) {
    return new SettingException(key + ": " + file + ": " + reason(cause), cause);
  }

  private static String reason(Exception e) {
    return switch (e) {
      case NoSuchFileException _ -> "there is no such file";
      case AccessDeniedException _ -> "may not be read";
      default -> String.valueOf(e.getMessage());
    };
  }

  /**
   * Reads the file again if it has changed and then stayed unchanged until the next call.
   *
   * @return whether its content was replaced
   */
  boolean refresh() {
    try {
      Stamp now = stamp();
      boolean settled = now.equals(seen);
      seen = now;
      if (now.equals(taken)) lastWarning = "";
      if (now.equals(taken) || !settled) return false; // do not read a file that is just being written
      taken = now;
      int read = load.read(path);
      lastWarning = "";
      reloaded.increment();
      log.info("Read {} again: {} {}", path, read, content);
      return true;
    } catch (IOException e) {
      taken = null;
      warn(reason(e));
    } catch (MalformedException e) {
      warn(reason(e));
    } catch (RuntimeException e) { // a bug, which must not end the reloading
      warn(e.toString());
    }
    return false;
  }

  /** Logs each fault once: an unchanged file does not need a warning at each look. */
  private void warn(String reason) {
    if (reason.equals(lastWarning)) return;
    lastWarning = reason;
    reloadsFailed.increment();
    log.warn("{}: {} was not loaded, the previous {} remain in force: {}", key, path, content, reason);
  }

  /** Follows symbolic links: in Kubernetes, a changed file is a new target of the same link. */
  private Stamp stamp() throws IOException {
    var attributes = Files.readAttributes(path, BasicFileAttributes.class);
    return new Stamp(attributes.fileKey(), attributes.lastModifiedTime(), attributes.size());
  }
}
