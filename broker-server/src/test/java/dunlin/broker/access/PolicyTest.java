package dunlin.broker.access;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.QoS;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of a policy against every topic of a small world, and what each kind of condition means. */
class PolicyTest {
  private static final Subject ALICE = Subject.of("tenant", "sensor", "alice");

  private static Policy policy(String... rules) {
    return policy(ALICE, rules);
  }

  private static Policy policy(Subject subject, String... rules) {
    return AclFileTest.rules(rules).policyOf(subject);
  }

  private static boolean publishes(Policy policy, String topic) {
    return policy.decide(Access.publish(topic, QoS.AT_LEAST_ONCE, false)).allowed();
  }

  private static Coverage reads(Policy policy, String filter) {
    return policy.coverage(Access.subscribe(filter, QoS.AT_LEAST_ONCE, ""));
  }

  @Test
  void theFirstMatchingRuleDecidesAndNoneDenies() {
    Policy policy = policy("deny user alice publish a/secret", "allow everyone publish a/#", "deny everyone publish a/b", "allow user bob publish #");
    assertThat(publishes(policy, "a/secret")).isFalse();
    assertThat(publishes(policy, "a")).isTrue();
    assertThat(publishes(policy, "a/b")).isTrue();
    assertThat(publishes(policy, "b")).isFalse();
    assertThat(Objects.requireNonNull(policy.decide(Access.publish("a/secret", QoS.AT_MOST_ONCE, false)).rule()).source()).isEqualTo("acl:1");
    assertThat(policy.decide(Access.publish("b", QoS.AT_MOST_ONCE, false)).rule()).isNull();
  }

  @Test
  void aRuleOfAnotherActionUserOrGroupIsNotLookedAt() {
    Policy policy =
        policy("group one bob", "group two alice", "allow user bob all a", "allow group one all a", "allow anonymous all a", "allow group two publish b");
    assertThat(publishes(policy, "a")).isFalse();
    assertThat(publishes(policy, "b")).isTrue();
    assertThat(reads(policy, "b")).isEqualTo(Coverage.NONE);
    assertThat(publishes(policy(Subject.of("tenant", "c", ""), "allow anonymous publish a", "deny user \"x y\" publish a"), "a")).isTrue();
  }

  @Test
  void placeholdersStandForTheClient() {
    Subject subject = new Subject("t", "sensor", "alice", Map.of("cert.cn", "name"), true);
    Policy policy = policy(subject, "allow everyone all %tenant/%u/%c/%{cert.cn}/#");
    assertThat(publishes(policy, "t/alice/sensor/name/x")).isTrue();
    assertThat(reads(policy, "t/alice/sensor/name/#")).isEqualTo(Coverage.ALL);
    assertThat(publishes(policy, "t/alice/sensor/other/x")).isFalse();
    assertThat(reads(policy, "t/+/sensor/name/#")).isEqualTo(Coverage.NONE);
    assertThat(publishes(policy("allow everyone publish 100%%/%%c"), "100%/%c")).isTrue();
  }

  /** CVE-2017-7650 and its like: a value that is no single level makes the rule match nothing. */
  @ParameterizedTest
  @ValueSource(strings = {"+", "#", "a/b", "+/+", "/", "a+", "x#", "a\0b", "", "$SYS", "$share"})
  void aValueIsNeverAWildcardOrASeparator(String hostile) {
    for (Subject subject : List.of(Subject.of("t", hostile, "alice"), Subject.of("t", "c", hostile))) {
      Policy policy = policy(subject, "allow everyone all %c/data", hostile.equals(subject.user()) ? "allow everyone all %u/#" : "deny everyone all x");
      for (String topic : List.of("a/data", "/data", "a/b/data", "data", "$SYS/data", "$share/data", "x/data", "+/data", "#/data")) {
        if (topic.startsWith(subject.clientId() + "/") && subject.clientId().equals("c")) continue;
        assertThat(publishes(policy, topic)).as(topic).isFalse();
      }
      for (String filter : List.of("#", "+/data", "a/data", "a/b/data", "$SYS/#", "$SYS/data")) {
        assertThat(reads(policy, filter)).as(filter).isEqualTo(Coverage.NONE);
      }
    }
  }

  /** Also in a rule that denies: it is about nothing, and the rules behind it decide. */
  @Test
  void aRuleWithoutAValueMatchesNothing() {
    Policy policy = policy(Subject.of("t", "a/b", "alice"), "deny everyone all %c/#", "allow everyone all #");
    assertThat(publishes(policy, "a/b/x")).isTrue();
    assertThat(reads(policy, "#")).isEqualTo(Coverage.ALL);
  }

  @Test
  void topicsOfTheServerAreNamedByTheirFirstLevel() {
    Policy all = policy("allow everyone all #", "allow everyone all +/uptime");
    assertThat(reads(all, "#")).isEqualTo(Coverage.ALL);
    assertThat(reads(all, "$SYS/#")).isEqualTo(Coverage.NONE);
    assertThat(publishes(all, "$SYS/uptime")).isFalse();
    Policy named = policy("deny everyone all $SYS/secret", "allow everyone all $SYS/#", "allow everyone all #");
    assertThat(reads(named, "$SYS/#")).isEqualTo(Coverage.PART);
    assertThat(reads(named, "#")).as("# does not match $SYS").isEqualTo(Coverage.ALL);
  }

  @ParameterizedTest
  @CsvSource({
    "publish a qos=1, 1, false, true", "publish a qos=1, 2, false, false", "publish a retain=no, 0, true, false",
    "publish a retain=no, 0, false, true", "publish a retain=yes, 0, false, false", "publish a qos=0 retain=yes, 0, true, true"
  })
  void qosAndRetainOfAMessage(String rule, int qos, boolean retain, boolean allowed) {
    assertThat(policy("allow everyone " + rule).decide(Access.publish("a", QoS.of(qos), retain)).allowed()).isEqualTo(allowed);
  }

  @ParameterizedTest
  @CsvSource({"share=g, g, ALL", "share=g, h, NONE", "share=g, '', NONE", "share=*, h, ALL", "share=*, '', NONE", "share=none, '', ALL", "share=none, g, NONE", "qos=2, g, ALL"})
  void groupOfASubscription(String condition, String group, Coverage coverage) {
    Policy policy = policy("allow everyone subscribe a/# " + condition);
    assertThat(policy.coverage(Access.subscribe("a/+", QoS.AT_MOST_ONCE, group))).isEqualTo(coverage);
  }

  @Test
  void whatAFilterBringsIsAllowedAsAWholeOnlyWithoutConditions() {
    Access some = new Access(AccessAction.RECEIVE, "a/#", QoS.AT_LEAST_ONCE, false, "");
    assertThat(policy("allow everyone receive a/# retain=no").coverage(some)).isEqualTo(Coverage.NONE);
    assertThat(policy("deny everyone receive a/# retain=yes", "allow everyone receive a/#").coverage(some)).isEqualTo(Coverage.PART);
    assertThat(policy("deny everyone receive a/# qos=0", "allow everyone receive a/#").coverage(some)).isEqualTo(Coverage.PART);
    assertThat(policy("allow everyone receive a/# qos=0").coverage(some)).isEqualTo(Coverage.NONE);
  }

  @Test
  void anUnknownAttributeAllowsWhatItMayAndDeniesNothing() {
    Subject gone = new Subject("t", "c", "u", Map.of(), false);
    assertThat(publishes(policy(gone, "allow everyone publish wills/%{cert.cn}"), "wills/x")).isTrue();
    assertThat(publishes(policy(gone, "deny everyone publish %{cert.cn}/x", "allow everyone publish wills/x"), "wills/x")).isTrue();
    assertThat(publishes(policy(gone, "deny everyone publish wills/x", "allow everyone publish wills/%{cert.cn}"), "wills/x")).isFalse();
  }

  @Test
  void rulesOfTheClientStandBehindAllOthers() {
    RuleSet rules = AclFileTest.rules("deny everyone publish a/secret", "allow user bob publish b");
    List<AccessRule> own = AclFile.ofClient("token", List.of("deny publish a/x", "allow publish a/#", "allow publish b"));
    Policy policy = rules.policyOf(ALICE, own);
    assertThat(publishes(policy, "a/secret")).isFalse();
    assertThat(publishes(policy, "a/x")).isFalse();
    assertThat(publishes(policy, "a/y")).isTrue();
    assertThat(publishes(policy, "c")).isFalse();
    assertThat(publishes(rules.policyOf(ALICE), "b")).isFalse();
    assertThat(publishes(new RuleSet().policyOf(ALICE, own), "b")).isTrue();
    assertThat(publishes(new RuleSet().policyOf(ALICE), "b")).as("no rule at all").isFalse();
    assertThat(policy.ownLevels()).isEqualTo(5);
  }

  /** A claim may be what a user has typed in. */
  @ParameterizedTest
  @ValueSource(strings = {"+", "#", "a/b", "+/x", "a+", "", "a\u0000b"})
  void aValueOfATokenIsNeverAWildcardOrSeveralLevels(String value) {
    Subject subject = new Subject("t", value.isEmpty() ? "c" : value, "u", Map.of("token.site", value), true);
    Policy policy = new RuleSet().policyOf(subject, AclFile.ofClient("token", List.of("allow all sites/%{token.site}/#", "allow all own/%c")));
    for (String topic : new String[] {"sites/x/y", "sites/a/b", "sites/a", "sites/+/x", "own/x", "own/a/b"}) assertThat(publishes(policy, topic)).as(topic).isFalse();
    for (String filter : new String[] {"sites/+/#", "sites/#", "#", "own/+", "own/#"}) assertThat(reads(policy, filter)).as(filter).isEqualTo(Coverage.NONE);
  }

  @Test
  void policiesWithTheSameValuesAreEqual() {
    RuleSet rules = AclFileTest.rules("allow everyone all a/#", "allow user bob all %c");
    assertThat(rules.policyOf(Subject.of("t", "c1", "u1"))).isEqualTo(rules.policyOf(Subject.of("t", "c2", "u2"))).hasSameHashCodeAs(rules.policyOf(Subject.of("t", "c2", "u2")));
    assertThat(rules.policyOf(Subject.of("t", "c1", "bob"))).isNotEqualTo(rules.policyOf(Subject.of("t", "c2", "bob")));
    assertThat(AclFileTest.rules("allow everyone all a/#").policyOf(ALICE)).isNotEqualTo(AclFileTest.rules("allow everyone all a/#").policyOf(ALICE));
  }

  @Test
  void verdictsAreRememberedForThePolicyTheyAreOf() {
    Verdicts verdicts = new Verdicts();
    Access asked = Access.publish("a", QoS.AT_MOST_ONCE, false);
    Policy before = policy("allow everyone all a");
    Policy after = policy("deny everyone all a");
    for (int i = 0; i < 2; i++) {
      assertThat(verdicts.allows(before, asked)).isTrue();
      assertThat(verdicts.allows(after, asked)).isFalse();
    }
    assertThat(verdicts.size()).isEqualTo(2);
  }

  @Test
  void rememberedVerdictsAreBounded() {
    Verdicts verdicts = new Verdicts();
    Policy policy = policy("allow everyone all #");
    String longTopic = "x".repeat(10_000);
    for (int i = 0; i < 5_000; i++) verdicts.allows(policy, Access.publish(longTopic + i, QoS.AT_MOST_ONCE, false));
    assertThat(verdicts.size()).isLessThan(1_000);
  }

  // ------------------------------------------------------------------------------------------------- against every topic there is

  /** "z" and "$z" are in no pattern. */
  private static final List<String> LEVELS = List.of("a", "b", "", "z", "$s", "$z");

  private static final int DEPTH = 3;

  static LongStream seeds() {
    Long given = Long.getLong("dunlin.test.seed");
    return given != null ? LongStream.of(given) : new Random().longs(20);
  }

  private static void topics(String prefix, int depth, List<String> out) {
    for (String level : LEVELS) {
      String topic = prefix + level;
      if (!topic.isEmpty()) out.add(topic);
      if (depth > 1) topics(topic + "/", depth - 1, out);
    }
  }

  private static String pattern(Random random, boolean withPlaceholder) {
    var pattern = new StringBuilder();
    int depth = 1 + random.nextInt(DEPTH);
    for (int i = 0; i < depth; i++) {
      if (i > 0) pattern.append('/');
      String level =
          switch (random.nextInt(8)) {
            case 0, 1 -> "+";
            case 2 -> i == depth - 1 ? "#" : "+";
            case 3 -> withPlaceholder ? "%c" : "a";
            case 4 -> i == 0 ? "$s" : "";
            case 5 -> "b";
            default -> "a";
          };
      pattern.append(level);
    }
    return pattern.isEmpty() ? "a" : pattern.toString();
  }

  private static boolean matches(AccessRule rule, String clientId, String topic) {
    return TopicFilter.plain(rule.topics().text().replace("%c", clientId)).matches(topic);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void decisionsAndCoverageAreThoseOfEveryTopic(long seed) {
    Random random = new Random(seed);
    List<String> topics = new ArrayList<>();
    topics("", DEPTH + 1, topics);
    for (int run = 0; run < 40; run++) {
      List<AccessRule> rules = new ArrayList<>();
      for (int i = random.nextInt(6); i >= 0; i--) {
        rules.add(AccessRule.of(random.nextInt(3) > 0, Set.copyOf(EnumSet.of(AccessAction.SUBSCRIBE, AccessAction.PUBLISH)), pattern(random, true)));
      }
      String clientId = random.nextBoolean() ? "a" : "b";
      Policy policy = Policy.of(Subject.of("t", clientId, "u"), rules);
      for (int i = 0; i < 40; i++) {
        String topic = topics.get(random.nextInt(topics.size()));
        AccessRule first = rules.stream().filter(rule -> matches(rule, clientId, topic)).findFirst().orElse(null);
        assertThat(policy.decide(Access.publish(topic, QoS.AT_MOST_ONCE, false)).rule()).as("%s of %s", topic, texts(rules)).isSameAs(first);
      }
      for (int i = 0; i < 10; i++) {
        String filter = pattern(random, false);
        assertThat(reads(policy, filter)).as("%s of %s for %s", filter, texts(rules), clientId).isEqualTo(expected(rules, clientId, filter, topics));
      }
    }
  }

  private static List<String> texts(List<AccessRule> rules) {
    return rules.stream().map(rule -> (rule.allows() ? "allow " : "deny ") + rule.topics().text()).toList();
  }

  /** The first rule that matches all topics of the filter decides; a denial before it that matches one makes it a part. */
  private static Coverage expected(List<AccessRule> rules, String clientId, String filter, List<String> topics) {
    List<String> matched = topics.stream().filter(TopicFilter.plain(filter)::matches).toList();
    boolean part = false;
    for (AccessRule rule : rules) {
      if (matched.stream().allMatch(topic -> matches(rule, clientId, topic))) {
        return !rule.allows() ? Coverage.NONE : part ? Coverage.PART : Coverage.ALL;
      }
      part |= !rule.allows() && matched.stream().anyMatch(topic -> matches(rule, clientId, topic));
    }
    return Coverage.NONE;
  }

  /** ALL means that no topic is denied; NONE and PART are no promise. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatIsCoveredIsAllowedForEachTopic(long seed) {
    Random random = new Random(seed);
    List<String> topics = new ArrayList<>();
    topics("", DEPTH + 1, topics);
    for (int run = 0; run < 100; run++) {
      List<AccessRule> rules = new ArrayList<>();
      for (int i = random.nextInt(5); i >= 0; i--) rules.add(conditional(random));
      Policy policy = Policy.of(ALICE, rules);
      String filter = pattern(random, false);
      Access brings = new Access(AccessAction.RECEIVE, filter, QoS.of(random.nextInt(3)), false, "");
      if (policy.coverage(brings) != Coverage.ALL) continue;
      for (String topic : topics) {
        if (!TopicFilter.plain(filter).matches(topic)) continue;
        for (int qos = 0; qos <= brings.qos().code(); qos++) {
          for (boolean retain : new boolean[] {false, true}) {
            assertThat(policy.decide(Access.receive(topic, QoS.of(qos), retain)).allowed()).as("%s of %s", topic, rules).isTrue();
          }
        }
      }
    }
  }

  private static AccessRule conditional(Random random) {
    @Nullable Boolean retain = random.nextInt(3) > 0 ? null : random.nextBoolean();
    return new AccessRule("", random.nextInt(4) > 0, Set.of(AccessAction.RECEIVE), TopicPattern.of(pattern(random, true)), QoS.of(random.nextInt(3)), retain, null);
  }
}
