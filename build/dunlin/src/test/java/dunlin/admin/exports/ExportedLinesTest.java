package dunlin.admin.exports;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import dunlin.admin.api.Endpoints;
import dunlin.admin.exports.ExportsMXBean.RetainedExport;
import dunlin.admin.exports.SessionExportsMXBean.GroupMessage;
import dunlin.admin.exports.SessionExportsMXBean.SessionBegin;
import dunlin.admin.exports.SessionExportsMXBean.SessionEnd;
import dunlin.admin.exports.SessionExportsMXBean.SessionLine;
import dunlin.admin.exports.SessionExportsMXBean.SessionMessage;
import dunlin.admin.exports.SessionExportsMXBean.SessionSubscription;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ExportedLinesTest {
  private static final String HEADER = Endpoints.EXPORT_HEADER + "\n";
  private static final String LINE = "{\"topic\":\"a\",\"qos\":2,\"publisher\":\"c\",\"acceptedAt\":\"2026-01-31T12:00:00Z\",\"properties\":\"AA==\",\"payload\":\"b24=\"}";

  @Test
  void linesAreReadInTheirOrder() {
    ExportedLines<RetainedExport> lines = ExportedLines.retained(HEADER + LINE + "\n{ \"payload\" : \"b24=\", \"topic\" : \"ü\\u00fc\" }\n", 10);

    assertThat(lines.next()).isEqualTo(new RetainedExport("a", 2, "c", "2026-01-31T12:00:00Z", "AA==", "b24="));
    assertThat(lines.number()).isEqualTo(10);
    assertThat(lines.next()).as("what is left out").isEqualTo(new RetainedExport("üü", 1, "", "", "", "b24="));
    assertThat(lines.number()).isEqualTo(11);
    assertThat(lines.hasNext()).isFalse();
  }

  @Test
  void whatAnExportWritesIsReadAgain() {
    RetainedExport written = new RetainedExport("a\"\\/\u2028\uD83D\uDE00", 0, "\n", "2026-01-31T12:00:00.001Z", "", "");

    assertThat(ExportedLines.retained(HEADER + new Gson().toJson(written), 2).next()).isEqualTo(written);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "`` | there is no line",
        "{} | line 1: the format is \"\" and not dunlin-retained",
        "{\"format\":\"other\",\"version\":1} | line 1: the format is \"other\"",
        "{\"format\":\"dunlin-retained\",\"version\":2} | line 1: the version of the format is 2; this node reads version 1",
        "{\"format\":\"dunlin-retained\"} | line 1: the version of the format is 0",
        "{\"format\":\"dunlin-retained\",\"version\":\"1\"} | line 1: the member version is not a number",
        "{\"format\":\"dunlin-retained\",\"version\":1,\"sessions\":2} | line 1: the member \"sessions\" is not known",
        "topic,payload | line 1: it is not a JSON object",
      })
  void otherFormatsAreRefused(String text, String why) {
    assertThatThrownBy(() -> ExportedLines.retained(text, 2)).isInstanceOf(IllegalArgumentException.class).hasMessageStartingWith(why);
  }

  @Test
  void aTextThatIsTooLongIsNotRead() {
    String most = HEADER + " ".repeat(ExportsMXBean.LINES_MAX - HEADER.length());

    assertThat(ExportedLines.retained(most, 2).hasNext()).isTrue();
    assertThatThrownBy(() -> ExportedLines.retained(most + " ", 2)).isInstanceOf(IllegalArgumentException.class).hasMessage("the lines have 3145729 characters, the limit is 3145728");
    assertThatThrownBy(() -> ExportedLines.sessions(most + " ", 2)).hasMessage("the lines have 3145729 characters, the limit is 3145728");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "`` | it is not a JSON object",
        "[] | it is not a JSON object",
        "null | it is not a JSON object",
        "{\"topic\":\"a\" | it is not a JSON object",
        "{topic:\"a\"} | it is not a JSON object",
        "{\"topic\":\"a\"} {} | it is not a JSON object",
        "{\"topic\":1} | the member topic is not a text",
        "{\"topic\":null} | the member topic is not a text",
        "{\"topic\":\"a\",\"topic\":\"b\"} | the member \"topic\" comes twice",
        "{\"retain\":true} | the member \"retain\" is not known",
        "{\"qos\":-1} | the member qos is not a number",
        "{\"qos\":1.5} | the member qos is not a number",
        "{\"qos\":12345678901} | the member qos is not a number",
      })
  void aWrongLineIsRefusedWithItsNumber(String line, String why) {
    ExportedLines<RetainedExport> lines = ExportedLines.retained(HEADER + LINE + "\n" + line + "\n" + LINE, 100);
    lines.next();

    assertThatThrownBy(lines::next).isInstanceOf(IllegalArgumentException.class).hasMessageStartingWith("line 101: " + why);
  }

  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3})
  void changedLinesAreReadAsSomethingElseOrRefused(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 3_000; i++) {
      StringBuilder changed = new StringBuilder(LINE);
      for (int changes = 1 + random.nextInt(4); changes > 0; changes--) changed.setCharAt(random.nextInt(changed.length()), "{}[]\":,\\0aé\u0000 ".charAt(random.nextInt(13)));
      try {
        assertThat(ExportedLines.retained(HEADER + changed, 2).next()).isNotNull();
      } catch (IllegalArgumentException refused) {
        assertThat(refused).as("seed %d: %s", seed, changed).hasMessageStartingWith("line 2: ");
      }
    }
  }

  private static final String SESSIONS = Endpoints.SESSIONS_HEADER + "\n";

  static Stream<SessionLine> sessionLines() {
    return Stream.of(
        new SessionLine(new SessionBegin("c\u2028", "ü", List.of(1, 65_535)), null, null, null, null),
        new SessionLine(null, new SessionMessage("c", (1L << 53) - 1, "a", 2, true, true, true, List.of(1, 268_435_455), "p", 4_294_967_295L, "AA==", "b24="), null, null, null),
        new SessionLine(null, null, new SessionSubscription("c", "$share/g/a", 2, false, true, 2, 7), null, null),
        new SessionLine(null, null, null, new SessionEnd("c", 4_294_967_295L), null),
        new SessionLine(null, null, null, null, new GroupMessage("$oshare/g/a", "a", 1, false, "p", 0, "", "")));
  }

  @ParameterizedTest
  @MethodSource("sessionLines")
  void whatAnExportOfSessionsWritesIsReadAgain(SessionLine written) {
    assertThat(ExportedLines.sessions(SESSIONS + new Gson().toJson(written), 2).next()).isEqualTo(written);
  }

  @ParameterizedTest
  @MethodSource("sessionLines")
  void changedLinesOfSessionsAreReadAsSomethingElseOrRefused(SessionLine written) {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    String line = new Gson().toJson(written);
    for (int i = 0; i < 3_000; i++) {
      StringBuilder changed = new StringBuilder(line);
      for (int changes = 1 + random.nextInt(4); changes > 0; changes--) changed.setCharAt(random.nextInt(changed.length()), "{}[]\":,\\0aé\u0000 ".charAt(random.nextInt(13)));
      try {
        assertThat(ExportedLines.sessions(SESSIONS + changed, 2).next()).isNotNull();
      } catch (IllegalArgumentException refused) {
        assertThat(refused).as("seed %d: %s", seed, changed).hasMessageStartingWith("line 2: ");
      }
    }
  }

  @Test
  void deepLinesAreRefused() {
    String deep = "{\"session\":" + "[".repeat(100_000);
    assertThatThrownBy(() -> ExportedLines.sessions(SESSIONS + deep, 2).next()).isInstanceOf(IllegalArgumentException.class).hasMessageStartingWith("line 2: ");
  }
}
