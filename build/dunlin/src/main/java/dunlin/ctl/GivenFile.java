package dunlin.ctl;

import dunlin.admin.api.Parameter;
import java.io.Console;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The value of a parameter that is read from a file: one of many lines, or one that must not be among the arguments of the process, where others see it. */
final class GivenFile {
  /** What follows the name of the parameter in the name of its option. */
  static final String SUFFIX = "-from";

  /** Stands for the standard input. */
  static final String STANDARD_INPUT = "-";

  /** The most bytes of a character. */
  private static final int CHARACTER_BYTES = 4;

  private GivenFile() {}

  /**
   * Reads it. A secret is the first line, from a terminal without echo; what is not secret is all of the file.
   *
   * @throws IOException saying what is wrong with the file, and nothing that is in it
   */
  static String read(String file, Parameter parameter) throws IOException {
    boolean secret = parameter.kind() == Parameter.Kind.SECRET;
    if (!file.equals(STANDARD_INPUT)) {
      try (InputStream in = Files.newInputStream(Path.of(file))) {
        return text(in, file, parameter);
      } catch (InvalidPathException e) {
        throw new IOException("not a path: " + e.getInput(), e);
      } catch (FileSystemException e) {
        throw new IOException(file + " cannot be read: " + (e.getReason() == null ? "is it there, and may you read it?" : e.getReason()), e);
      }
    }
    Console console = terminal();
    return secret && console != null ? typed(console, parameter) : text(System.in, "the standard input", parameter);
  }

  @SuppressWarnings("SystemConsoleNull") // in JDK 25 there is again no console without a terminal
  private static @Nullable Console terminal() {
    Console console = System.console();
    return console != null && console.isTerminal() ? console : null;
  }

  private static String typed(Console console, Parameter parameter) throws IOException {
    char[] once = console.readPassword("%s: ", parameter.description());
    char[] again = console.readPassword("Once more: ");
    if (once == null || again == null) throw new IOException("nothing was given");
    boolean same = Arrays.equals(once, again);
    String given = new String(once);
    Arrays.fill(once, ' ');
    Arrays.fill(again, ' ');
    if (!same) throw new IOException("the two differ; nothing was changed");
    return given;
  }

  private static String text(InputStream in, String source, Parameter parameter) throws IOException {
    int max = Math.toIntExact(parameter.max()) * CHARACTER_BYTES;
    byte[] bytes = in.readNBytes(max + 1);
    if (bytes.length > max) throw new IOException(source + " has more than %d bytes".formatted(max));
    return parameter.kind() == Parameter.Kind.SECRET ? firstLine(bytes, source) : decoded(bytes, source);
  }

  /** @throws IOException when it is empty, or these are no characters */
  static String firstLine(byte[] bytes, String source) throws IOException {
    String line = decoded(bytes, source).lines().findFirst().orElse("");
    if (line.isEmpty()) throw new IOException("the first line of " + source + " is empty");
    return line;
  }

  private static String decoded(byte[] bytes, String source) throws IOException {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new IOException(source + " is not UTF-8", e);
    }
  }
}
