package dunlin.mutants;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Leaves out one check of access rules, users, bans or tenants at a time, and expects the tests of these to fail. It takes half an hour and more: with
 * {@code -Ddunlin.test.mutants=true} only, or with the names of some mutants in place of {@code true}; docs/development.md has the command.
 */
@EnabledIfSystemProperty(named = AccessMutantsIT.WANTED, matches = ".+")
class AccessMutantsIT {
  static final String WANTED = "dunlin.test.mutants";

  private static final Path MODULES = Path.of("../..");
  private static final Path SOURCES = MODULES.resolve("broker-server/src/main/java/dunlin/broker");

  /** Some of the tests are there. */
  private static final Path TESTS = MODULES.resolve("broker-server/target/test-classes");

  private static final int MINUTES_MAX = 20;

  /** What checks are about, and so which tests have to notice that one is left out. */
  enum Matter {
    RULES,
    SESSION,
    USERS,
    TENANTS;

    private List<String> tests() {
      return switch (this) {
        case RULES -> List.of("dunlin.subscribing.WithheldMessagesIT", "dunlin.connecting.AuthorisationIT");
        case SESSION -> List.of("dunlin.broker.session.ChangedRulesTest", "dunlin.broker.session.RecordedPublishesTest");
        case USERS -> List.of("dunlin.connecting.UsersIT");
        case TENANTS -> List.of("dunlin.connecting.TenantsIT", "dunlin.connecting.TenantLimitsIT", "dunlin.connecting.TenantStoresIT");
      };
    }
  }

  /** A check that is left out: in a file, a text that is there once, what takes its place, and what it is about. */
  enum Mutant {
    PUBLISH("session/InboundPublishes.java", "!access.mayPublish(message)", "false"),
    PUBLISH_AGAIN_AFTER_A_CHANGE("session/SessionAccess.java", "by == now && ", ""),
    PUBLISH_THAT_IS_REPEATED_AFTER_A_LOSS("session/InboundPublishes.java", "recorded != null && mayRepeat(packet)", "recorded != null", Matter.SESSION),
    WILL_AT_CONNECT("connect/Admission.java", "!access.mayPublish(Denials.Kind.WILL, will.topic(), will.qos(), will.retain())", "false"),
    WILL_WHEN_SENT("SendingWill.java", "authorization.verdicts().allows(grant.policy(), Access.publish(will.topic(), will.qos(), will.retain()))", "true"),
    SUBSCRIBE("session/Subscriptions.java", "access.grant(filter, options.maximumQoS())", "options.maximumQoS()"),
    SUBSCRIPTIONS_AFTER_A_CHANGE("session/Subscriptions.java", "!access.keeps(filter, entry.options.maximumQoS())", "false"),
    LIVE("session/Outbound.java", "session.withholds(message, qos, retain)", "false"),
    OUT_OF_THE_QUEUE("session/Outbound.java", "session.withholds(message.message, message.qos, message.retain)", "false"),
    RETAINED("session/RetainedReader.java", "!session.withholds(message, message.qos().min(request.options.maximumQoS()), true)", "true"),
    SHARED("session/LiveSession.java", "if (withholds(message, qos, retain)) return false;", "", Matter.SESSION),
    RECEIVE("session/SessionAccess.java", "verdicts.allows(now, Access.receive(topic, qos, retain)) && maySubscribe(now, topic)", "maySubscribe(now, topic)"),
    SUBSCRIBE_TO_THE_TOPIC("session/SessionAccess.java", "verdicts.allows(now, Access.receive(topic, qos, retain)) && maySubscribe(now, topic)", "verdicts.allows(now, Access.receive(topic, qos, retain))"),
    SUBSCRIPTIONS_THAT_ARE_NOT_ALLOWED_AS_A_WHOLE("session/SessionAccess.java", "whole &= coverage == Coverage.ALL;", ""),
    MESSAGES_THAT_WAIT_AFTER_A_CHANGE("session/LiveSession.java", "if (outbound != null && outbound.queued() > 0) access.checkAll();", ""),
    CHANGED_RULES("session/SessionAccess.java", "Policy now = grant.policy();\n    if (!now.equals(applied)) {", "Policy now = applied;\n    if (!now.equals(applied)) {", Matter.SESSION),
    WILL_OF_A_CLIENT_WITHOUT_RULES_OF_ITS_OWN("auth/Authorization.java", "underRules || !ofTokens", "!ofTokens"),
    BANS("auth/Authentication.java", "ban.isEmpty()", "true", Matter.USERS),
    BANS_OF_CONNECTED_CLIENTS("connect/Connection.java", ".turnedAway(peer(), live.clientId(), user, userSince)", ".turnedAway(peer(), \"\", \"\", 0)", Matter.USERS),
    USERS_THAT_ARE_DISABLED("auth/Authentication.java", "known != null && !known.enabled()", "false", Matter.USERS),
    USERS_THAT_ARE_DELETED("auth/Authentication.java", "since != 0 && directory.since(user) != since", "false", Matter.USERS),
    TENANT_THAT_IS_AWAY("tenant/Tenants.java", "away.isPresent()", "false", Matter.TENANTS),
    TENANT_OF_CONNECTED_CLIENTS("tenant/Tenant.java", "return rule.away();", "return Optional.empty();", Matter.TENANTS),
    CONNECTIONS_OF_A_TENANT("tenant/Tenant.java", "!isCounted(connections, max)", "false", Matter.TENANTS),
    SUBSCRIPTIONS_OF_A_TENANT("tenant/Tenant.java", "isCounted(subscriptions, rule.max(TenantLimit.ALL_SUBSCRIPTIONS))", "true", Matter.TENANTS),
    STORED_SUBSCRIPTIONS_OF_A_TENANT("inbox-store/src/main/java/dunlin/inbox/propose/TenantSessions.java", "count + more <= max", "true", Matter.TENANTS),
    INBOXES_OF_A_TENANT("inbox-store/src/main/java/dunlin/inbox/propose/TenantInboxes.java", "most == TenantQuota.NONE", "true", Matter.TENANTS),
    RETAINED_MESSAGES_OF_A_TENANT("retain-store/src/main/java/dunlin/retain/TenantRoom.java", "full == null", "true", Matter.TENANTS),
    ROUTES_OF_A_TENANT("dist-worker/src/main/java/dunlin/dist/route/RouteQuota.java", "appliedOf.applyAsLong(tenant) + taken > max", "false", Matter.TENANTS);

    private final String file;
    private final String check;
    private final String instead;
    private final Matter matter;

    Mutant(String file, String check, String instead) {
      this(file, check, instead, Matter.RULES);
    }

    Mutant(String file, String check, String instead, Matter matter) {
      this.file = file;
      this.check = check;
      this.instead = instead;
      this.matter = matter;
    }
  }

  @TempDir Path directory;

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  private int run(List<String> tests, Path mutated) throws IOException, InterruptedException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-ea", "-Xmx1g", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
    command.add("-Djava.io.tmpdir=" + Files.createDirectories(directory.resolve("files")));
    command.addAll(List.of("-cp", String.join(File.pathSeparator, mutated.toString(), classPath(), TESTS.toString()), SelectedTests.class.getName()));
    command.addAll(tests);
    var process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(directory.resolve("output").toFile()).start();
    try {
      assertThat(process.waitFor(MINUTES_MAX, TimeUnit.MINUTES)).as("the tests end").isTrue();
    } finally {
      process.destroyForcibly();
    }
    return process.exitValue();
  }

  private void compile(Path source, Path to) {
    int result =
        ToolProvider.getSystemJavaCompiler().run(null, null, null, "-proc:none", "-nowarn", "-cp", classPath(), "-d", to.toString(), source.toString());
    assertThat(result).as("the mutant compiles").isZero();
  }

  @Test
  void withAllChecksTheTestsPass() throws Exception {
    List<String> all = Stream.of(Matter.values()).map(Matter::tests).flatMap(List::stream).toList();
    assertThat(run(all, Files.createDirectory(directory.resolve("nothing")))).as(() -> output()).isZero();
  }

  static Stream<Mutant> wanted() {
    String names = System.getProperty(WANTED, "");
    return names.equals("true") ? Stream.of(Mutant.values()) : Stream.of(names.split(",", -1)).map(Mutant::valueOf);
  }

  @ParameterizedTest
  @MethodSource("wanted")
  void aCheckThatIsLeftOutIsNoticed(Mutant mutant) throws Exception {
    Path original = (mutant.file.contains("/src/") ? MODULES : SOURCES).resolve(mutant.file);
    String text = Files.readString(original);
    assertThat(text.split(Pattern.quote(mutant.check), -1)).as("the check is there once").hasSize(2);
    Path source = Files.writeString(directory.resolve(original.getFileName()), text.replace(mutant.check, mutant.instead));
    Path classes = Files.createDirectory(directory.resolve("classes"));
    compile(source, classes);
    assertThat(run(mutant.matter.tests(), classes)).as(() -> "tests fail without the check; " + output()).isEqualTo(1);
  }

  private String output() {
    try {
      return Files.readString(directory.resolve("output"));
    } catch (IOException e) {
      return e.toString();
    }
  }
}
