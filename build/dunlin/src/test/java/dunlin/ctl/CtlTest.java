package dunlin.ctl;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands of dunlinctl, as far as no node is needed. */
class CtlTest {
  @TempDir private Path directory;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private int run(String... arguments) {
    return Ctl.run(
        new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8), directory.resolve("admin-access"), arguments);
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }

  @Test
  void everyEndpointHasACommandWithHelp() {
    for (Endpoint endpoint : Endpoints.ALL) {
      out.reset();
      List<String> words = new ArrayList<>(List.of(endpoint.command().split(" ", -1)));
      words.add("--help");
      assertThat(run(words.toArray(new String[0]))).as(endpoint.command()).isZero();
      assertThat(out().replaceAll("\\s+", " ")).contains("dunlinctl " + endpoint.command(), endpoint.summary());
    }
  }

  @Test
  void theCompletionHasEveryCommand() {
    assertThat(run("completion")).isZero();
    assertThat(out()).contains("complete -F").contains("transfer-leadership").contains("--connections-per-second");
  }

  /** Asks for words behind others, as the shell does when a user presses the tab key. */
  private List<String> completed(String shell, String... words) throws Exception {
    Path script = directory.resolve("completion");
    out.reset();
    assertThat(run("completion")).isZero();
    Files.writeString(script, out());
    String line = "'" + String.join("' '", words) + "'";
    String asked =
        "source %s 2>/dev/null; compopt() { :; }; COMP_WORDS=(dunlinctl %s); COMP_CWORD=%d; _complete_dunlinctl; printf '%%s\\n' \"${COMPREPLY[@]}\"".formatted(script, line, words.length);
    Process process = new ProcessBuilder(shell, "-c", asked).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(answer).isZero();
    return answer.lines().toList();
  }

  @Test
  void bashCompletesCommandsOptionsAndValues() throws Exception {
    assertThat(completed("bash", "cl")).containsExactlyInAnyOrder("clients", "cluster");
    assertThat(completed("bash", "sessions", "de")).containsExactlyInAnyOrder("delete", "delete-all");
    assertThat(completed("bash", "clients", "top", "--b")).containsExactly("--by");
    assertThat(completed("bash", "clients", "top", "--by", "")).contains("in-flight", "published-rate");
    assertThat(completed("bash", "--output", "")).containsExactlyInAnyOrder("table", "json");
  }

  @Test
  void aWrongCommandIsExplained() {
    assertThat(run("no-such")).isEqualTo(Ctl.USAGE);
    assertThat(run("sessions")).isEqualTo(Ctl.USAGE);
    assertThat(run("sessions", "get")).isEqualTo(Ctl.USAGE);
    assertThat(run("sessions", "delete-all")).as("without its prefix").isEqualTo(Ctl.USAGE);
    assertThat(run("status", "--output", "xml")).isEqualTo(Ctl.USAGE);
    assertThat(err()).contains("Usage: dunlinctl sessions get");
  }

  @Test
  void theOptionsOfTopAreBounded() {
    assertThat(run("top", "--help")).isZero();
    assertThat(out()).contains("--interval").contains("queued-bytes");
    assertThat(run("top", "--by", "name")).isEqualTo(Ctl.USAGE);
    assertThat(err()).contains("--by is one of queued, queued-bytes");
    assertThat(run("top", "--sessions-by", "name")).isEqualTo(Ctl.USAGE);
    assertThat(run("top", "--lanes-by", "name")).isEqualTo(Ctl.USAGE);
    assertThat(run("top", "--interval", "0")).isEqualTo(Ctl.USAGE);
    assertThat(run("top", "--limit", "101")).isEqualTo(Ctl.USAGE);
    assertThat(run("top", "--count", "-1")).isEqualTo(Ctl.USAGE);
    assertThat(run("top", "--count", "some")).isEqualTo(Ctl.USAGE);
    assertThat(run("top", "--sample", "6")).as("a sample takes no number").isEqualTo(Ctl.USAGE);
    assertThat(run("top", "--count", "1")).as("there is no node").isEqualTo(Ctl.UNREACHED);
  }

  /** Arguments of a process are seen by all users of its machine. */
  @Test
  void aPasswordIsNoArgument() throws IOException {
    assertThat(run("users", "put", "alice", "--password", "secret")).isEqualTo(Ctl.USAGE);
    assertThat(run("users", "put", "alice", "--password-from", directory.resolve("none").toString())).isEqualTo(Ctl.USAGE);
    assertThat(err()).contains("none cannot be read");
    assertThat(run("users", "put", "alice", "--password-from", directory.toString())).isEqualTo(Ctl.USAGE);
    Path file = directory.resolve("password");
    Files.writeString(file, "\nsecond line");
    assertThat(run("users", "put", "alice", "--password-from", file.toString())).isEqualTo(Ctl.USAGE);
    assertThat(err()).contains("the first line of").doesNotContain("second line");
    Files.write(file, new byte[] {(byte) 0xFF});
    assertThat(run("users", "put", "alice", "--password-from", file.toString())).isEqualTo(Ctl.USAGE);
    Files.writeString(file, "x".repeat(5_000));
    assertThat(run("users", "put", "alice", "--password-from", file.toString())).isEqualTo(Ctl.USAGE);
    assertThat(err()).contains("is not UTF-8", "more than 4096 bytes");
    assertThat(run("roles", "put", "r")).as("without its rules").isEqualTo(Ctl.USAGE);
    Files.writeString(file, "secret");
    assertThat(run("users", "put", "alice", "--password-from", file.toString())).as("there is no node").isEqualTo(Ctl.UNREACHED);
  }

  @Test
  void withoutANodeTheReasonIsSaid() throws IOException {
    assertThat(run("status")).isEqualTo(Ctl.UNREACHED);
    assertThat(err()).contains("admin-access does not exist");
    for (String wrong : List.of("", "http://127.0.0.1:1\n", "ftp://127.0.0.1\ntoken\n", "http://[\ntoken\n", "http://127.0.0.1:1\ntoken\nmore\n")) {
      Files.writeString(directory.resolve("admin-access"), wrong);
      assertThat(run("status")).as(wrong).isEqualTo(Ctl.UNREACHED);
    }
    Files.writeString(directory.resolve("admin-access"), "http://127.0.0.1:1\ntoken\n"); // a port on which nothing listens
    assertThat(run("status")).isEqualTo(Ctl.UNREACHED);
    assertThat(err()).contains("refused");
  }

  @Test
  void aTokenIsShownApartFromItsLine() {
    assertThat(run("token", "grafana", "viewer")).isZero();
    assertThat(out()).matches("grafana viewer [0-9a-f]{64}\n");
    assertThat(err()).matches("The token, which is not shown again: [A-Za-z0-9_-]{43}\n");
    assertThat(run("token", "grafana", "owner")).isEqualTo(Ctl.USAGE);
    assertThat(run("token", "a b", "viewer")).isEqualTo(Ctl.USAGE);
  }
}
