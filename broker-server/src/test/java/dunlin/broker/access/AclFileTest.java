package dunlin.broker.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.QoS;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The format of the file of rules: what it takes, and where it says that an error is. */
class AclFileTest {
  static RuleSet rules(String... lines) {
    return AclFile.parse("acl", (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void aFileWithAllThatThereIs() {
    RuleSet rules =
        rules(
            "# who is who", "", "group operators alice \"Bob B\" \"c\\\"d\\\\\"\r", "group operators dora", "  \t# behind blanks",
            "allow\tgroup operators  publish,read  \"plant one/#\" qos=1 retain=no share=*", "deny everyone all \"#\"");
    assertThat(rules.size()).isEqualTo(2);
    for (String user : new String[] {"alice", "Bob B", "c\"d\\", "dora"}) {
      Policy policy = rules.policyOf(Subject.of("t", "c", user));
      assertThat(policy.decide(Access.publish("plant one/x", QoS.AT_LEAST_ONCE, false)).allowed()).as(user).isTrue();
      assertThat(policy.decide(Access.publish("plant one/x", QoS.EXACTLY_ONCE, false)).allowed()).as(user).isFalse();
      assertThat(policy.coverage(Access.subscribe("plant one/#", QoS.AT_LEAST_ONCE, "g"))).isEqualTo(Coverage.ALL);
    }
    assertThat(rules.policyOf(Subject.of("t", "c", "eve")).decide(Access.publish("plant one/x", QoS.AT_LEAST_ONCE, false)).allowed()).isFalse();
  }

  @Test
  void theLastLineNeedsNoEnd() {
    assertThat(AclFile.parse("acl", "allow everyone all #".getBytes(StandardCharsets.UTF_8)).size()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "alow everyone all #|1|expected allow, deny or group",
        "allow|6|whom the rule is about",
        "allow all a|7|expected everyone, anonymous",
        "allow user|11|the name of the user",
        "allow user \"\" all a|12|not empty",
        "allow everyone|15|what the rule is about",
        "allow everyone publish,write a|24|expected publish, subscribe",
        "allow everyone publish, a|24|expected publish, subscribe",
        "allow everyone publish|23|a topic pattern",
        "allow everyone publish \"\"|24|not empty",
        "allow everyone publish a/b+/c|27|+ must be alone",
        "allow everyone publish a/#/c|26|last level",
        "allow everyone publish a/%x/c|26|unknown placeholder",
        "allow everyone publish a/%{cert.dn}|26|unknown placeholder",
        "allow everyone publish a/s-%c|28|alone in its level",
        "allow everyone publish $share/g/a|24|share=GROUP",
        "allow everyone publish a qos=3|30|expected qos=0",
        "allow everyone publish a qos=1 qos=1|32|at most once",
        "allow everyone publish a retain=maybe|33|retain=yes",
        "allow everyone subscribe a retain=no|28|publish and receive only",
        "allow everyone publish a share=g|26|subscribe only",
        "allow everyone read a share=|29|share=GROUP",
        "allow everyone publish a b|26|expected one of",
        "allow everyone publish \"a|24|not closed",
        "allow everyone publish \"a\"b|27|a blank must follow",
        "allow everyone publish \"a\\n\"|26|stands before",
        "allow everyone publish a\"b|25|inside a word",
        "allow everyone publish a\u0007b|25|control character",
        "allow group nobody publish a|13|there is no line",
        "group|6|the name of the group",
        "# nothing|1|there is no rule"
      })
  void anErrorIsNamedByLineAndColumn(String line, int column, String what) {
    boolean empty = line.startsWith("#");
    assertThatThrownBy(() -> rules(empty ? "" : "allow everyone all x", line))
        .isInstanceOf(AclFile.MalformedException.class)
        .hasMessageStartingWith("line " + (empty ? 1 : 2) + ", column " + column + ": ")
        .hasMessageContaining(what);
  }

  @Test
  void bytesThatAreNoTextAreNamedToo() {
    byte[] bytes = "allow everyone all #\n# x\uFFFF".getBytes(StandardCharsets.UTF_8);
    bytes[bytes.length - 3] = (byte) 0xC3;
    bytes[bytes.length - 2] = '(';
    assertThatThrownBy(() -> AclFile.parse("acl", bytes)).hasMessage("line 2, column 4: not UTF-8");
    byte[] cut = "allow everyone all #\n\u00E4".getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> AclFile.parse("acl", java.util.Arrays.copyOf(cut, cut.length - 1))).hasMessageContaining("line 2, column 1: not UTF-8");
  }

  @Test
  void tooManyLevelsAndTooLargeAFile(@TempDir Path directory) throws IOException {
    assertThatThrownBy(() -> rules("allow everyone all " + "a/".repeat(TopicPattern.LEVELS_MAX) + "b")).hasMessageContaining("more than 128 levels");
    Path large = directory.resolve("large");
    Files.write(large, new byte[16 * 1_024 * 1_024 + 1]);
    assertThatThrownBy(() -> AclFile.read(large)).isInstanceOf(AclFile.MalformedException.class).hasMessageContaining("larger");
  }

  @Test
  void rulesOfOneClientAreReadWithoutWhomTheyAreAbout() {
    List<AccessRule> rules = AclFile.ofClient("token", List.of("deny publish,read \"a b/#\"", "allow publish up/%c/%{token.site} qos=1 retain=no"));
    assertThat(rules).extracting(AccessRule::source).containsExactly("token:1", "token:2");
    assertThat(rules).extracting(AccessRule::allows).containsExactly(false, true);
    assertThat(rules.get(1).qosMax()).isEqualTo(QoS.AT_LEAST_ONCE);
    assertThat(AclFile.ofClient("token", List.of())).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "``|1|expected allow or deny",
        "group a b|1|expected allow or deny",
        "allow everyone all #|7|expected publish",
        "allow all|10|a topic pattern",
        "deny all a/%{token.}|12|unknown placeholder",
        "deny all a/%{token.a.b}|12|unknown placeholder",
        "deny all # qos=3|16|qos=0",
        "allow all a retain|13|at most once"
      })
  void anErrorInARuleOfAClientSaysWhere(String rule, int column, String why) {
    assertThatThrownBy(() -> AclFile.ofClient("token", List.of("allow all a", rule)))
        .isInstanceOf(AclFile.MalformedException.class)
        .hasMessageStartingWith("line 2, column " + column + ": ")
        .hasMessageContaining(why);
  }

  @Test
  void aClientHasABoundedNumberOfRules() {
    assertThatThrownBy(() -> AclFile.ofClient("token", Collections.nCopies(65, "allow all a"))).hasMessageContaining("more than 64 rules");
    assertThatThrownBy(() -> AclFile.ofClient("token", Collections.nCopies(6, "allow all a" + "/a".repeat(99)))).hasMessageContaining("more than 512 levels");
    assertThat(AclFile.ofClient("token", Collections.nCopies(64, "allow all a/b/c/d/e/f/g/h"))).hasSize(64);
  }
}
