package dunlin;

import dunlin.broker.auth.PasswordFile;
import java.io.ByteArrayOutputStream;
import java.io.Console;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** {@code bin/dunlin passwd}: adds a user to a password file, changes a password, or deletes a user. */
final class Passwd {
  private static final int CANNOT = 1;
  private static final int USAGE = 2;
  private static final int ITERATIONS = 4_096;
  private static final int PASSWORD_BYTES_MAX = 65_535;

  private Passwd() {}

  public static void main(String[] args) {
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    List<String> words = new ArrayList<>(List.of(args));
    boolean delete = words.remove("-d");
    if (words.size() != 2 || words.getFirst().startsWith("-")) {
      err.println("Usage: bin/dunlin passwd [-d] FILE USER; the password is read from the terminal, or from standard input; -d deletes the user");
      System.exit(USAGE);
    }
    try {
      change(Path.of(words.getFirst()), words.getLast(), delete);
    } catch (IOException | IllegalArgumentException | PasswordFile.MalformedException e) {
      err.println("dunlin passwd: " + words.getFirst() + ": " + reason(e));
      System.exit(CANNOT);
    }
  }

  private static void change(Path file, String user, boolean delete) throws IOException {
    if (delete) {
      if (!PasswordFile.delete(file, user)) throw new IllegalArgumentException("there is no such user");
      return;
    }
    byte[] password = readPassword(user);
    PasswordFile.put(file, user, password, ITERATIONS);
    Arrays.fill(password, (byte) 0);
  }

  private static String reason(Exception e) {
    return switch (e) {
      case NoSuchFileException missing -> "there is no such file or directory: " + missing.getFile();
      case AccessDeniedException denied -> "may not be read or written: " + denied.getFile();
      default -> String.valueOf(e.getMessage());
    };
  }

  /** Reads the password twice from a terminal, without echo; otherwise the first line of standard input. */
  @SuppressWarnings("SystemConsoleNull") // in JDK 25 there is again no console without a terminal
  private static byte[] readPassword(String user) throws IOException {
    Console console = System.console();
    if (console == null || !console.isTerminal()) return firstLine(System.in);
    char[] once = typed(console.readPassword("Password for %s: ", user));
    char[] again = typed(console.readPassword("Once more: "));
    boolean same = Arrays.equals(once, again);
    byte[] password = utf8(once);
    Arrays.fill(once, ' ');
    Arrays.fill(again, ' ');
    if (!same) throw new IllegalArgumentException("the two passwords differ; nothing was changed");
    return password;
  }

  private static char[] typed(char[] line) {
    if (line == null) throw new IllegalArgumentException("no password was given");
    return line;
  }

  private static byte[] utf8(char[] text) {
    ByteBuffer encoded = ByteBuffer.allocate(text.length * 3);
    StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text), encoded, true);
    byte[] bytes = Arrays.copyOf(encoded.array(), encoded.position());
    Arrays.fill(encoded.array(), (byte) 0);
    return bytes;
  }

  private static byte[] firstLine(InputStream in) throws IOException {
    var line = new ByteArrayOutputStream();
    for (int b = in.read(); b >= 0 && b != '\n'; b = in.read()) {
      if (line.size() == PASSWORD_BYTES_MAX) throw new IllegalArgumentException("the password is too long");
      line.write(b);
    }
    byte[] bytes = line.toByteArray();
    boolean carriageReturn = bytes.length > 0 && bytes[bytes.length - 1] == '\r';
    return carriageReturn ? Arrays.copyOf(bytes, bytes.length - 1) : bytes;
  }
}
