package dunlin.broker.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers of the service, and questions as it sees them. */
class HttpAnswerTest {
  private static HttpAnswer read(String json) {
    return HttpAnswer.Reader.read(json.getBytes(StandardCharsets.UTF_8));
  }

  private static HttpAnswer.Allowed allowed(String json) {
    return (HttpAnswer.Allowed) read(json);
  }

  @Test
  void aShortAnswerIsEnough() {
    assertThat(allowed("{\"result\":\"allow\"}")).isEqualTo(new HttpAnswer.Allowed("", "", Optional.empty(), Optional.empty(), Map.of(), List.of()));
    assertThat(read("{\"result\":\"deny\"}")).isEqualTo(new HttpAnswer.Denied(""));
    assertThat(read("{\"result\":\"deny\",\"reason\":\"not today\",\"more\":[1,{}]}")).isEqualTo(new HttpAnswer.Denied("not today"));
  }

  @Test
  void allMembersAreRead() {
    var answer =
        allowed(
            "{\"result\":\"allow\",\"user\":\"Zoë\",\"tenant\":\"blue\",\"seconds\":3600,\"cacheSeconds\":0,\"attributes\":{\"plant\":\"north\"},"
                + "\"acl\":[\"deny publish a/secret\",\"allow all a/# qos=1\"],\"unknown\":null}");
    assertThat(answer.user()).isEqualTo("Zoë");
    assertThat(answer.tenant()).isEqualTo("blue");
    assertThat(answer.life()).contains(Duration.ofHours(1));
    assertThat(answer.remember()).contains(Duration.ZERO);
    assertThat(answer.attributes()).containsExactly(Map.entry("plant", "north"));
    assertThat(answer.rules()).extracting(rule -> rule.allows()).containsExactly(false, true);
    assertThat(answer.rules().getFirst().source()).startsWith("http");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "allow", "[]", "\"allow\"", "null", "{}", "{\"result\":true}", "{\"result\":\"ALLOW\"}", "{\"result\":\"allow\"", "{\"result\":\"allow\"} x",
        "{\"result\":[\"allow\"]}", "{\"result\":\"allow\",\"user\":7}", "{\"result\":\"allow\",\"tenant\":{}}", "{\"result\":\"allow\",\"seconds\":-1}",
        "{\"result\":\"allow\",\"seconds\":\"60\"}", "{\"result\":\"allow\",\"seconds\":1e300}", "{\"result\":\"allow\",\"cacheSeconds\":true}",
        "{\"result\":\"allow\",\"attributes\":[]}", "{\"result\":\"allow\",\"attributes\":{\"a b\":\"x\"}}", "{\"result\":\"allow\",\"attributes\":{\"a\":1}}",
        "{\"result\":\"allow\",\"acl\":{}}", "{\"result\":\"allow\",\"acl\":[7]}", "{\"result\":\"allow\",\"acl\":[\"allow everyone all #\"]}",
        "{\"result\":\"allow\",\"acl\":[\"deny publish a/#/b\"]}", "{\"result\":\"deny\",\"reason\":1}"
      })
  void whatCannotBeUnderstoodIsNoAnswer(String json) {
    assertThatThrownBy(() -> read(json)).isInstanceOf(HttpAnswer.Reader.MalformedException.class);
  }

  @Test
  void sizesAreBounded() {
    String attributes = IntStream.range(0, 17).mapToObj(i -> "\"a%d\":\"x\"".formatted(i)).collect(Collectors.joining(","));
    String rules = IntStream.range(0, 65).mapToObj(i -> "\"allow publish a%d\"".formatted(i)).collect(Collectors.joining(","));
    for (String json : new String[] {"\"user\":\"" + "x".repeat(257) + '"', "\"attributes\":{" + attributes + '}', "\"acl\":[" + rules + ']', "\"deep\":" + "[".repeat(30_000)}) {
      assertThatThrownBy(() -> read("{\"result\":\"allow\"," + json + '}')).isInstanceOf(HttpAnswer.Reader.MalformedException.class);
    }
  }

  @Test
  void bytesThatAreNoTextAreNoAnswer() {
    byte[] bytes = "{\"result\":\"allow\",\"user\":\"\u00e9\"}".getBytes(StandardCharsets.ISO_8859_1);
    assertThatThrownBy(() -> HttpAnswer.Reader.read(bytes)).isInstanceOf(HttpAnswer.Reader.MalformedException.class);
  }

  /** What a client says stays within its own text. */
  @Test
  void aQuestionQuotesWhatClientsSay() throws ParseException {
    String name = "\",\"userName\":\"admin\",\"x\":\"\u2028\n";
    var question = new HttpQuestion(1, 5, name, Optional.of(name), Optional.of(name.getBytes(StandardCharsets.UTF_8)), "127.0.0.1", "tcp", false, Optional.empty(), Map.of("cert.cn", name));
    var members = JSONObjectUtils.parse(new String(question.body(), StandardCharsets.UTF_8));
    assertThat(members).containsEntry("clientId", name).containsEntry("userName", name).containsEntry("password", name).containsEntry("address", "127.0.0.1").containsEntry("listener", "tcp").containsEntry("encrypted", false);
    assertThat(members.get("certificate")).isEqualTo(Map.of("cert.cn", name));
    assertThat(question.toString()).doesNotContain("password");
  }

  @Test
  void aPasswordThatIsNoTextIsSentAsBase64() throws ParseException {
    var question = new HttpQuestion(1, 4, "", Optional.empty(), Optional.of(new byte[] {(byte) 0xff, 0}), "", "unix", false, Optional.empty(), Map.of());
    var members = JSONObjectUtils.parse(new String(question.body(), StandardCharsets.UTF_8));
    assertThat(members).containsEntry("passwordBase64", "/wA=").doesNotContainKeys("password", "userName", "certificate");
  }
}
