package dunlin.documents;

import static java.util.stream.Collectors.joining;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** The normative statements of a version of MQTT, with their numbers, paraphrased. */
enum Specification {
  MQTT_5("MQTT 5.0", "MQTT-", "mqtt-5.0.tsv"),
  MQTT_3_1_1("MQTT 3.1.1", "MQTT3-", "mqtt-3.1.1.tsv");

  /** Who has to obey a statement. */
  enum Duty {
    SERVER,
    CLIENT,
    BOTH;

    String text() {
      return switch (this) {
        case SERVER -> "server";
        case CLIENT -> "client";
        case BOTH -> "both";
      };
    }
  }

  /**
   * One statement.
   *
   * @param id the number that the specification gives, such as 3.3.1-5
   * @param noTest why no test is needed; empty when one is
   */
  record Statement(String id, Duty duty, String wording, String noTest) {
    Statement {
      if (!id.matches("\\d+\\.\\d+\\.\\d+-\\d+")) throw new IllegalArgumentException("statement " + id);
      if (wording.isBlank()) throw new IllegalArgumentException("statement " + id + " without words");
      if (duty == Duty.BOTH && !noTest.isEmpty()) {
        throw new IllegalArgumentException("statement " + id + " is the server's, too, and is not proven");
      }
    }

    /** Whether the server must obey the statement, or must detect a client that breaks it. */
    boolean ours() {
      return noTest.isEmpty();
    }

    /** 3.3.1 of 3.3.1-5. */
    String section() {
      return id.substring(0, id.indexOf('-'));
    }

    int number() {
      return Integer.parseInt(id.substring(id.indexOf('-') + 1));
    }
  }

  /** Statements under one heading. */
  record Section(String heading, List<Statement> statements) {}

  private final String title;
  private final String tagPrefix;
  private final String file;

  Specification(String title, String tagPrefix, String file) {
    this.title = title;
    this.tagPrefix = tagPrefix;
    this.file = file;
  }

  String title() {
    return title;
  }

  /** The tag of a test that proves this statement. */
  String tag(Statement statement) {
    return tagPrefix + statement.id();
  }

  /** Reads the list: headings after {@code ##}, and lines of number, duty, wording and the reason for no test. */
  List<Section> sections() {
    List<Section> sections = new ArrayList<>();
    for (String line : lines()) {
      if (line.startsWith("## ")) {
        sections.add(new Section(line.substring(3), new ArrayList<>()));
        continue;
      }
      String[] fields = line.split("\t", -1);
      if (fields.length < 3 || fields.length > 4) throw new IllegalArgumentException(file + ": " + line);
      Duty duty = Duty.valueOf(fields[1].toUpperCase(Locale.ROOT));
      sections.getLast().statements().add(new Statement(fields[0], duty, fields[2], fields.length == 4 ? fields[3] : ""));
    }
    return sections;
  }

  List<Statement> statements() {
    return sections().stream().flatMap(section -> section.statements().stream()).toList();
  }

  private List<String> lines() {
    return resource(file).lines().toList();
  }

  /** Reads a resource beside the lists. */
  static String resource(String name) {
    var stream = Objects.requireNonNull(Specification.class.getResourceAsStream("/conformance/" + name), name);
    try (var reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      return reader.lines().collect(joining("\n"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
