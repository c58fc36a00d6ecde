package dunlin.harness;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.TestBroker;
import dunlin.harness.ApiCalls.Answer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** A trace that runs, until it is closed. */
public record Followed(ApiCalls api, String id) implements AutoCloseable {
  private static final int PART = 1_000;

  /** What a line says, without when and where. */
  public record Line(String hop, String step, String reason, String topic, String publisher, String client) {
    public static Line of(JsonElement json) {
      JsonObject line = json.getAsJsonObject();
      return new Line(text(line, "hop"), text(line, "step"), text(line, "reason"), text(line, "topic"), text(line, "publisher"), text(line, "client"));
    }

    private static String text(JsonObject line, String member) {
      return line.get(member).getAsString();
    }

    /** Hop, step and reason in one text. */
    public String what() {
      return (hop + " " + step + " " + reason).strip();
    }
  }

  public static Followed by(ApiCalls api, String criterion, String value) {
    Answer begun = api.post("/traces", "{\"%s\":\"%s\",\"minutes\":1}".formatted(criterion, value));
    assertThat(begun.status()).as(begun.text()).isEqualTo(200);
    return new Followed(api, begun.member("trace"));
  }

  public static Followed topic(ApiCalls api, String filter) {
    return by(api, "topic", filter);
  }

  /** What each of these lines says. */
  public static List<String> what(List<Line> lines) {
    return lines.stream().map(Line::what).toList();
  }

  public List<Line> lines() {
    List<Line> all = new ArrayList<>();
    String cursor = "";
    while (true) {
      Answer answer = api.get("/traces/" + id + "/lines?limit=" + PART + cursor);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      List<Line> part = answer.json().getAsJsonArray("lines").asList().stream().map(Line::of).toList();
      all.addAll(part);
      if (part.size() < PART) return all;
      cursor = "&cursor=" + answer.member("next");
    }
  }

  /** Waits for a line that says this; answers all of that time. */
  public List<Line> until(Predicate<Line> wanted) {
    List<Line> lines = new ArrayList<>();
    await()
        .atMost(TestBroker.SOON)
        .untilAsserted(
            () -> {
              lines.clear();
              lines.addAll(lines());
              assertThat(lines).anyMatch(wanted);
            });
    return lines;
  }

  public List<Line> until(String what) {
    return until(line -> line.what().equals(what));
  }

  @Override
  public void close() {
    assertThat(api.delete("/traces/" + id).status()).isEqualTo(200);
  }
}
