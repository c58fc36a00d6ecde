package dunlin.load.plan;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The clients' credentials, from a CSV file that has some of the columns user, password, client-id, certificate and key. */
public record Credentials(List<Row> rows) {
  public static final int ROWS_MAX = 5_000_000;
  /** Each pair of certificate and key takes a TLS context of some 100 KB. */
  public static final int CERTIFICATES_MAX = 10_000;

  private static final List<String> COLUMNS = List.of("user", "password", "client-id", "certificate", "key");

  /** A line of the file; missing values are null. */
  public record Row(@Nullable String user, @Nullable String password, @Nullable String clientId, @Nullable Path certificate, @Nullable Path key) {}

  public Credentials {
    rows = List.copyOf(rows);
    if (rows.isEmpty()) throw new IllegalArgumentException("there are no credentials");
  }

  /** The row of a client; rows are used in turn. */
  public Row row(int client) {
    return rows.get(client % rows.size());
  }

  /** Reads a file whose first line names its columns. Paths in it are relative to it. */
  public static Credentials read(Path file) {
    try (var lines = Files.lines(file)) {
      var all = lines.limit(ROWS_MAX + 2L).toList();
      return parse(file, all);
    } catch (IOException failure) {
      throw new IllegalArgumentException("%s cannot be read".formatted(file), failure);
    }
  }

  private static Credentials parse(Path file, List<String> lines) {
    if (lines.isEmpty()) throw new IllegalArgumentException("%s is empty; its first line names columns of %s".formatted(file, COLUMNS));
    List<String> header = cells(file, 1, lines.getFirst()).stream().map(String::strip).toList();
    for (String column : header) {
      if (!COLUMNS.contains(column)) throw new IllegalArgumentException("%s, line 1: there is no column \"%s\"; there are %s".formatted(file, column, COLUMNS));
    }
    if (lines.size() > ROWS_MAX + 1) throw new IllegalArgumentException("%s has more than %,d lines".formatted(file, ROWS_MAX));
    var rows = new ArrayList<Row>();
    for (int i = 1; i < lines.size(); i++) {
      if (lines.get(i).isBlank()) continue;
      List<String> cells = cells(file, i + 1, lines.get(i));
      if (cells.size() != header.size()) {
        throw new IllegalArgumentException("%s, line %d: %d columns where the first line has %d".formatted(file, i + 1, cells.size(), header.size()));
      }
      rows.add(row(file, i + 1, header, cells));
    }
    if (rows.isEmpty()) throw new IllegalArgumentException("%s has no line behind its first".formatted(file));
    long certificates = rows.stream().map(Row::certificate).distinct().count();
    if (certificates > CERTIFICATES_MAX) throw new IllegalArgumentException("%s names more than %,d certificates".formatted(file, CERTIFICATES_MAX));
    return new Credentials(rows);
  }

  private static Row row(Path file, int line, List<String> header, List<String> cells) {
    Path certificate = path(file, cell(header, cells, "certificate"));
    Path key = path(file, cell(header, cells, "key"));
    if ((certificate == null) != (key == null)) throw new IllegalArgumentException("%s, line %d: a certificate and its key come together".formatted(file, line));
    return new Row(cell(header, cells, "user"), cell(header, cells, "password"), cell(header, cells, "client-id"), certificate, key);
  }

  private static @Nullable String cell(List<String> header, List<String> cells, String column) {
    int at = header.indexOf(column);
    return at < 0 || cells.get(at).isEmpty() ? null : cells.get(at);
  }

  private static @Nullable Path path(Path file, @Nullable String cell) {
    return cell == null ? null : file.toAbsolutePath().resolveSibling(cell);
  }

  /** The cells of a line. A quoted cell may contain commas, and a quotation mark as two. */
  private static List<String> cells(Path file, int number, String line) {
    var cells = new ArrayList<String>();
    var cell = new StringBuilder();
    boolean quoted = false;
    for (int i = 0; i < line.length(); i++) {
      char next = line.charAt(i);
      if (quoted && next == '"' && i + 1 < line.length() && line.charAt(i + 1) == '"') {
        cell.append('"');
        i++;
      } else if (next == '"') {
        quoted = !quoted;
      } else if (next == ',' && !quoted) {
        cells.add(cell.toString());
        cell.setLength(0);
      } else {
        cell.append(next);
      }
    }
    if (quoted) throw new IllegalArgumentException("%s, line %d: a quotation mark is not closed".formatted(file, number));
    cells.add(cell.toString());
    return cells;
  }
}
