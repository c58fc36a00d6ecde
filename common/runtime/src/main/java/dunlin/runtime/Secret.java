package dunlin.runtime;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * A secret of the settings: written in place, in a file ({@code file:PATH}) or in an environment variable ({@code
 * env:NAME}). {@code text:} in front of a secret says that it is in place, whatever it begins with.
 */
public final class Secret {
  /*
   * Owner: none, it does not change; any thread reads its value.
   * Bounds: a file has at most FILE_MAX bytes; no more are read.
   * Failure: a SettingException that names the setting, and the file or variable. Neither it nor toString has the value.
   */
  private static final String FILE = "file:";
  private static final String VARIABLE = "env:";
  private static final String TEXT = "text:";
  private static final int FILE_MAX = 64 * 1024;
  private static final String HIDDEN = "********";
  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,254}");

  private final String key;
  private final Place place;

  /** Where the secret is. */
  private sealed interface Place {
    record Here(String value) implements Place {}

    record InFile(Path path) implements Place {}

    record InVariable(String name) implements Place {}
  }

  private Secret(String key, Place place) {
    this.key = key;
    this.place = place;
  }

  /** No secret: its value is empty. */
  public static Secret none() {
    return of("");
  }

  /** A secret that a program has already. */
  public static Secret of(String value) {
    return new Secret("", new Place.Here(value));
  }

  static Secret read(RawSetting raw) {
    String text = raw.text().strip();
    if (text.startsWith(FILE)) return new Secret(raw.key(), new Place.InFile(path(raw, text.substring(FILE.length()))));
    if (text.startsWith(VARIABLE)) {
      String name = text.substring(VARIABLE.length());
      if (!NAME.matcher(name).matches()) throw wrong(raw, VARIABLE + " must be followed by the name of an environment variable");
      return new Secret(raw.key(), new Place.InVariable(name));
    }
    return new Secret(raw.key(), new Place.Here(text.startsWith(TEXT) ? text.substring(TEXT.length()) : text));
  }

  private static Path path(RawSetting raw, String text) {
    try {
      if (!text.isBlank()) return raw.directory().resolve(text.strip());
    } catch (InvalidPathException _) { // it quotes the text
    }
    throw wrong(raw, FILE + " must be followed by the path of a file");
  }

  private static SettingException wrong(RawSetting raw, String what) {
    return new SettingException("%s is wrong by %s: %s.".formatted(raw.key(), raw.origin(), what));
  }

  /**
   * The secret, from its file as the file is now; without the line end behind it. Empty only for {@link #none}.
   *
   * @throws SettingException naming the setting, if the file or variable is missing, empty or cannot be read
   */
  public String value() {
    return switch (place) {
      case Place.Here(String value) -> value;
      case Place.InFile(Path path) -> ofFile(path);
      case Place.InVariable(String name) -> {
        String value = System.getenv(name);
        if (value == null || value.isEmpty())
          throw new SettingException("%s: the environment variable %s is %s.".formatted(key, name, value == null ? "not set" : "empty"));
        yield value;
      }
    };
  }

  private String ofFile(Path path) {
    byte[] bytes = bytes(path);
    if (bytes.length > FILE_MAX) throw unusable(path, "is larger than " + FILE_MAX + " bytes");
    int end = bytes.length;
    if (end > 0 && bytes[end - 1] == '\n') end--;
    if (end > 0 && end < bytes.length && bytes[end - 1] == '\r') end--;
    if (end == 0) throw unusable(path, "is empty");
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, 0, end)).toString();
    } catch (CharacterCodingException _) {
      throw unusable(path, "is not text in UTF-8");
    } finally {
      Arrays.fill(bytes, (byte) 0);
    }
  }

  private byte[] bytes(Path path) {
    if (Files.exists(path) && !Files.isRegularFile(path)) throw unusable(path, "is not a regular file");
    try (InputStream in = Files.newInputStream(path)) {
      return in.readNBytes(FILE_MAX + 1);
    } catch (NoSuchFileException _) {
      throw unusable(path, "does not exist");
    } catch (AccessDeniedException _) {
      throw unusable(path, "may not be read by the user of this process");
    } catch (IOException e) {
      throw unusable(path, "cannot be read (" + e.getClass().getSimpleName() + ")");
    }
  }

  private SettingException unusable(Path path, String why) {
    return new SettingException("%s: the file %s %s.".formatted(key, LogText.escaped(path.toString()), why));
  }

  /** Whether the secret itself stands in the settings. */
  boolean isHere() {
    return place instanceof Place.Here(String value) && !value.isEmpty();
  }

  /** What operators see: where the secret is, never what it is. */
  @Override
  public String toString() {
    return switch (place) {
      case Place.Here(String value) -> value.isEmpty() ? "" : HIDDEN;
      case Place.InFile(Path path) -> FILE + path;
      case Place.InVariable(String name) -> VARIABLE + name;
    };
  }
}
