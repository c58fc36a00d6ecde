package dunlin.ctl;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Parameter;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.io.Reader;
import java.io.Writer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** {@code dunlinctl retained export} and {@code import}, and those of {@code sessions}: a file with a line that names the format, and JSON objects as lines. */
final class ExportFile {
  /*
   * Bounds: one page of an export, or one part of an import, is in memory: lines of up to PART_CHARS together, or one longer line.
   * Failure: an export has another name until it is whole, so that a part of one is never taken for all of it. An import ends with the first part that is refused, and
   * says what the parts before it did; it can be done again.
   */
  private static final String FILE = "--file";
  private static final String LINES = "lines";
  private static final String REFUSED = "refused";
  private static final String SENTENCES = "sentences";
  private static final int PART_CHARS = 262_144;

  /**
   * What is in a file.
   *
   * @param counted the member that a line has which counts as exported; empty for all lines
   * @param sums the numbers in the answer of an import
   */
  private record Kind(Endpoint exports, Endpoint imports, String header, String counted, List<String> sums) {}

  private static final List<Kind> KINDS =
      List.of(
          new Kind(Endpoints.EXPORT_RETAINED, Endpoints.IMPORT_RETAINED, Endpoints.EXPORT_HEADER, "", List.of("imported", "kept", "expired")),
          new Kind(
              Endpoints.EXPORT_SESSIONS, Endpoints.IMPORT_SESSIONS, Endpoints.SESSIONS_HEADER, "end", List.of("sessions", "existing", "unfinished", "messages", "expired")));

  private final Kind kind;
  private final ApiClient client;
  private final Output output;
  private final PrintStream out;
  private final PrintStream err;

  /**
   * @param endpoint one for which {@link #isOf} is true
   * @param err gets the sentences about what was refused
   */
  ExportFile(Endpoint endpoint, ApiClient client, Output output, PrintStream out, PrintStream err) {
    kind = KINDS.stream().filter(each -> isOf(each, endpoint)).findFirst().orElseThrow();
    this.client = client;
    this.output = output;
    this.out = out;
    this.err = err;
  }

  /** The file cannot be read or written, or is none. */
  static final class UnusableException extends IOException {
    private static final long serialVersionUID = 1L;

    UnusableException(String why, @Nullable Throwable cause) {
      super(why, cause);
    }
  }

  /** Whether the command of an endpoint is about such a file. */
  static boolean isOf(Endpoint endpoint) {
    return KINDS.stream().anyMatch(kind -> isOf(kind, endpoint));
  }

  private static boolean isOf(Kind kind, Endpoint endpoint) {
    return endpoint.equals(kind.exports()) || endpoint.equals(kind.imports());
  }

  /** Whether a parameter follows from the file, and has no option. */
  static boolean gives(Parameter parameter) {
    return List.of(LINES, Endpoints.FIRST_LINE, Endpoints.LIMIT, Endpoints.CURSOR).contains(parameter.name());
  }

  static OptionSpec option(Endpoint endpoint) {
    boolean exports = endpoint.listing();
    return OptionSpec.builder(FILE)
        .required(true)
        .type(String.class)
        .paramLabel("FILE")
        .description(exports ? "The file that is written; - is the standard output." : "The file of an export; - is the standard input.")
        .build();
  }

  /** Does what the command says. */
  void run(Endpoint endpoint, Map<String, String> values, ParseResult given) throws IOException, ApiClient.RefusedException {
    String file = given.matchedOptionValue(FILE, "");
    try {
      if (endpoint.equals(kind.exports())) exportTo(file, values);
      else importFrom(file, values);
    } catch (InvalidPathException e) {
      throw new UnusableException("not a path: " + e.getInput(), e);
    } catch (FileSystemException e) {
      throw new UnusableException(file + " cannot be used: " + (e.getReason() == null ? "is it there, and may you use it?" : e.getReason()), e);
    } catch (CharacterCodingException e) {
      throw new UnusableException(file + " is not UTF-8", e);
    }
  }

  private void exportTo(String file, Map<String, String> values) throws IOException, ApiClient.RefusedException {
    if (file.equals(GivenFile.STANDARD_INPUT)) {
      Writer to = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8));
      write(to, values);
      to.flush();
      return;
    }
    Path whole = Path.of(file);
    Path part = Path.of(file + ".part");
    JsonObject exported = new JsonObject();
    try {
      try (Writer to = Files.newBufferedWriter(part)) {
        exported.addProperty("exported", write(to, values));
      }
      Files.move(part, whole, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(part);
    }
    output.one(exported, out);
  }

  /** Writes all pages; answers how many messages or sessions there were. */
  private long write(Writer to, Map<String, String> values) throws IOException, ApiClient.RefusedException {
    Map<String, String> asked = new HashMap<>(values);
    asked.put(Endpoints.LIMIT, Long.toString(Endpoints.EXPORTS_MAX));
    to.write(kind.header() + "\n");
    long exported = 0;
    String next;
    do {
      JsonObject page = client.call(kind.exports(), asked);
      for (JsonElement row : Ctl.items(page)) {
        to.write(row + "\n");
        if (kind.counted().isEmpty() || row.getAsJsonObject().has(kind.counted())) exported++;
      }
      JsonElement cursor = page.get("next");
      if (cursor == null) throw new IOException("the answer is not a page of an export");
      next = cursor.getAsString();
      asked.put(Endpoints.CURSOR, next);
    } while (!next.isEmpty());
    return exported;
  }

  private void importFrom(String file, Map<String, String> values) throws IOException, ApiClient.RefusedException {
    try (InputStream in = file.equals(GivenFile.STANDARD_INPUT) ? System.in : Files.newInputStream(Path.of(file));
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8.newDecoder()))) {
      output.one(imported(new Lines(lines, file), values), out);
    }
  }

  private JsonObject imported(Lines lines, Map<String, String> values) throws IOException, ApiClient.RefusedException {
    JsonObject sums = new JsonObject();
    for (String sum : kind.sums()) sums.addProperty(sum, 0L);
    String header = lines.next();
    boolean first = true; // a file without further lines is looked at, too
    while (first || !lines.atEnd()) {
      first = false;
      Map<String, String> asked = new HashMap<>(values);
      asked.put(Endpoints.FIRST_LINE, Long.toString(lines.number() + 1));
      StringBuilder part = new StringBuilder(header).append('\n');
      while (!lines.atEnd() && (part.length() == header.length() + 1 || part.length() + lines.nextLength() < PART_CHARS)) part.append(lines.next()).append('\n');
      asked.put(LINES, part.toString());
      add(importPart(asked, sums), sums);
    }
    return sums;
  }

  private JsonObject importPart(Map<String, String> asked, JsonObject before) throws IOException, ApiClient.RefusedException {
    try {
      return client.call(kind.imports(), asked);
    } catch (ApiClient.RefusedException refused) {
      throw new ApiClient.RefusedException("%s Of the lines before line %s: %s.".formatted(refused.getMessage(), asked.get(Endpoints.FIRST_LINE), text(before)));
    }
  }

  private String text(JsonObject sums) {
    return String.join(", ", kind.sums().stream().map(sum -> sums.get(sum).getAsLong() + " " + sum).toList());
  }

  private void add(JsonObject part, JsonObject sums) throws IOException {
    for (String sum : kind.sums()) add(part, sum, sums);
    if (part.has(SENTENCES)) for (JsonElement why : part.getAsJsonArray(SENTENCES)) err.println("dunlinctl: " + why.getAsString());
    JsonElement refused = part.get(REFUSED);
    if (refused == null) return;
    JsonObject all = sums.has(REFUSED) ? sums.getAsJsonObject(REFUSED) : new JsonObject();
    for (String reason : refused.getAsJsonObject().keySet()) add(refused.getAsJsonObject(), reason, all);
    sums.add(REFUSED, all);
  }

  private static void add(JsonObject part, String sum, JsonObject sums) throws IOException {
    JsonElement more = part.get(sum);
    if (more == null) throw new IOException("the answer is not that of an import");
    sums.addProperty(sum, (sums.has(sum) ? sums.get(sum).getAsLong() : 0) + more.getAsLong());
  }

  /** The lines of a file, of which the next one is read already. */
  private static final class Lines {
    /** The first line of the file has room beside it in a request. */
    private static final long LONGEST = Math.min(Endpoints.IMPORT_RETAINED.parameters().getFirst().max(), Endpoints.IMPORT_SESSIONS.parameters().getFirst().max()) - 1_024;

    private final Reader in;
    private final String file;
    private final StringBuilder next = new StringBuilder();
    private boolean end;
    private long number;

    Lines(Reader in, String file) throws IOException {
      this.in = in;
      this.file = file;
      read();
      if (end) throw new UnusableException(file + " is empty", null);
    }

    boolean atEnd() {
      return end;
    }

    /** How many lines were given. */
    long number() {
      return number;
    }

    int nextLength() {
      return next.length();
    }

    String next() throws IOException {
      String line = next.toString();
      number++;
      read();
      return line;
    }

    private void read() throws IOException {
      next.setLength(0);
      int c;
      while ((c = in.read()) >= 0 && c != '\n') {
        next.append((char) c);
        if (next.length() > LONGEST) throw new UnusableException("%s: line %d has more than %d characters".formatted(file, number + 1, LONGEST), null);
      }
      end = c < 0 && next.isEmpty();
    }
  }
}
