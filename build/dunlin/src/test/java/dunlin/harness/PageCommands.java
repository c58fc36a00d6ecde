package dunlin.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The commands of {@code dunlinctl} in the tables of docs/admin-api.md. */
public final class PageCommands {
  private static final Path PAGE = Path.of("../../docs/admin-api.md");
  private static final String HEADER = "| Command |";
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");
  private static final Pattern OPTIONAL = Pattern.compile("\\[[^\\[\\]]*\\]");
  private static final Pattern PLACEHOLDER = Pattern.compile("\\b[A-Z]+\\b");

  private PageCommands() {}

  /** Each of them as it is in the table; of one with optional parts, it is one command. */
  public static List<String> all() {
    List<String> commands = new ArrayList<>();
    boolean inTable = false;
    try {
      for (String line : Files.readAllLines(PAGE)) {
        inTable = line.startsWith(HEADER) || (inTable && line.startsWith("|"));
        if (!inTable) continue;
        Matcher code = CODE.matcher(line.substring(0, line.indexOf('|', 1)));
        while (code.find()) commands.add(code.group(1));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return commands;
  }

  /**
   * A command with values in the place of its placeholders: without its optional parts, and with them if it has any.
   *
   * @param values by the placeholder
   */
  public static List<String[]> filled(String command, Map<String, String> values) {
    String least = command;
    while (OPTIONAL.matcher(least).find()) least = OPTIONAL.matcher(least).replaceAll("");
    String most = command.replaceAll("[\\[\\]]", "");
    List<String[]> filled = new ArrayList<>(List.<String[]>of(words(least, values)));
    if (!most.equals(command)) filled.add(words(most, values));
    return filled;
  }

  private static String[] words(String command, Map<String, String> values) {
    String[] words = command.strip().split(" +", -1);
    for (int i = 0; i < words.length; i++) {
      if (!PLACEHOLDER.matcher(words[i]).matches()) continue;
      String value = values.get(words[i]);
      if (value == null) throw new AssertionError("no value for " + words[i] + " of the command: " + command);
      words[i] = value;
    }
    return words;
  }
}
