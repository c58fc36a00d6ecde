package dunlin.broker.tenant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServerNamesTest {
  private final ServerNames names =
      ServerNames.parse(List.of("mqtt.blue.example=blue", " *.green.example = green ", "*.deep.green.example=deep", "bücher.example=books", "*.Loud.Example.=loud"));

  @Test
  void theWholeNameComesBeforeTheLongestSuffix() {
    assertThat(names.tenantOf("mqtt.blue.example")).contains("blue");
    assertThat(names.tenantOf("a.green.example")).contains("green");
    assertThat(names.tenantOf("a.b.green.example")).contains("green");
    assertThat(names.tenantOf("a.deep.green.example")).contains("deep");
    assertThat(names.tenantOf("deep.green.example")).contains("green");
  }

  @Test
  void upperCaseAndTheDotOfTheRootMakeNoDifference() {
    assertThat(names.tenantOf("MQTT.Blue.Example")).contains("blue");
    assertThat(names.tenantOf("mqtt.blue.example.")).contains("blue");
    assertThat(names.tenantOf("a.loud.example")).contains("loud");
  }

  @Test
  void namesOfOtherScriptsAreComparedAsClientsSendThem() {
    assertThat(names.tenantOf("xn--bcher-kva.example")).contains("books");
    assertThat(names.tenantOf("bücher.example")).as("not as TLS has it").isEmpty();
  }

  @Test
  void whatIsNoNameOrNotKnownIsOfNoTenant() {
    for (String wrong :
        List.of(
            "", ".", "example", "blue.example", "green.example", ".green.example", "a..green.example", "mqtt.blue.example..", "a.green.example.evil", "a\u0000.green.example",
            "mqtt.blue.example\u0000", "a b.green.example", "a/b.green.example", "*.green.example", "127.0.0.1", "::1", "\uFFFD.green.example", "x".repeat(64) + ".green.example",
            "x.".repeat(125) + "green.example"))
      assertThat(names.tenantOf(wrong)).as(wrong).isEmpty();
  }

  @Test
  void aStarStandsForAllOtherNamesButNotForWhatIsNone() {
    ServerNames all = ServerNames.parse(List.of("*=other", "a.example=a"));
    assertThat(all.tenantOf("a.example")).contains("a");
    assertThat(all.tenantOf("b.example")).contains("other");
    assertThat(all.tenantOf("b.example\u0000")).isEmpty();
    assertThat(all.tenantOf("")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "a.example", "a.example=", "a.example=no/tenant", "=blue", "*.=blue", "a.*.example=blue", "*a.example=blue", "a..example=blue", "127.0.0.1=blue", "[::1]=blue", "::1=blue",
        "a b=blue", "a\u0000b=blue"
      })
  void wrongTextsAreRefused(String text) {
    assertThatThrownBy(() -> ServerNames.parse(List.of(text))).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("\"");
  }

  @Test
  void aNameIsThereOnceAndThereAreNotTooMany() {
    assertThatThrownBy(() -> ServerNames.parse(List.of("a.example=blue", "A.example.=green"))).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("is there twice");
    List<String> many = IntStream.rangeClosed(0, ServerNames.NAMES_MAX).mapToObj(i -> "n" + i + ".example=blue").toList();
    assertThatThrownBy(() -> ServerNames.parse(many)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("at most");
  }
}
