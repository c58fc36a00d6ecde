package dunlin.broker.auth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.OpenFrontend;
import dunlin.broker.auth.Authentication.Way;
import dunlin.broker.auth.AuthenticationProvider.Authenticators;
import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.broker.auth.Authenticator.Decision;
import dunlin.broker.codec.Packet;
import dunlin.broker.codec.PacketEncoder;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.guard.BlockRule;
import dunlin.broker.guard.GuardSettings;
import dunlin.broker.http.HttpSettings;
import dunlin.broker.jwt.JwtSettings;
import dunlin.broker.tenant.TenantSettings;
import dunlin.broker.users.UsersSettings;
import dunlin.model.ReasonCode;
import dunlin.runtime.Secret;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How a client is authenticated, depending on its credentials and the available authenticators. */
class AuthenticationTest {
  private static final Authenticator ANYBODY =
      _ -> CompletableFuture.completedFuture(new Decision.Accepted(Identity.of("anybody")));
  private static final EnhancedAuthenticator METHOD =
      new EnhancedAuthenticator() {
        @Override
        public String method() {
          return "M";
        }

        @Override
        public Exchange begin(Credentials credentials) {
          return _ -> CompletableFuture.completedFuture(new Step.Success(new byte[0], Identity.of("anybody")));
        }
      };
  private static final Authenticators BOTH = new Authenticators(Optional.of(ANYBODY), List.of(METHOD));
  private static final Authenticators METHODS = new Authenticators(Optional.empty(), List.of(METHOD));

  private static final int UNANSWERED = 2;
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final List<Authentication> opened = new ArrayList<>();

  @AfterEach
  void close() {
    opened.forEach(Authentication::close);
  }

  @Test
  void withoutAnyAuthenticatorClientsMayConnectOnlyOnThisMachine() {
    Authentication none = open(false, Authenticators.none());

    assertThat(none.authenticates()).isFalse();
    assertThat(none.mayListenAnywhere()).isFalse();
    assertThat(none.wayOf(plain(), connect("alice", "one"), true)).isEqualTo(new Way.Known(Identity.ANONYMOUS));
    assertRefused(none.wayOf(plain(), connect("alice", "one"), false), ReasonCode.NOT_AUTHORIZED);
    Authentication anonymous = open(true, Authenticators.none());
    assertThat(anonymous.authenticates()).isFalse();
    assertThat(anonymous.mayListenAnywhere()).isTrue();
    assertThat(anonymous.wayOf(plain(), connect(null, null), false)).isEqualTo(new Way.Known(Identity.ANONYMOUS));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void withAnAuthenticatorClientsThatShowNothingAreRefusedAlsoOnThisMachine(boolean local) {
    Authentication asking = open(false, BOTH);

    assertThat(asking.authenticates()).isTrue();
    assertThat(asking.mayListenAnywhere()).isTrue();
    assertRefused(asking.wayOf(plain(), connect(null, null), local), ReasonCode.NOT_AUTHORIZED);
    assertThat(asking.wayOf(plain(), connect("alice", "one"), local)).isEqualTo(new Way.ByCredentials(ANYBODY));
    assertThat(asking.wayOf(plain(), connect("alice", null), local)).isEqualTo(new Way.ByCredentials(ANYBODY));
    assertThat(asking.wayOf(plain(), connect(null, "token"), local)).isEqualTo(new Way.ByCredentials(ANYBODY));
  }

  @Test
  void aWrongPasswordIsRefusedEvenIfAnonymousClientsAreAllowed() {
    Authentication asking = open(true, BOTH);

    assertThat(asking.wayOf(plain(), connect(null, null), false)).isEqualTo(new Way.Known(Identity.ANONYMOUS));
    assertThat(asking.wayOf(plain(), connect("alice", "one"), false)).isEqualTo(new Way.ByCredentials(ANYBODY));
  }

  @Test
  void aPasswordThatNobodyCanCheckIsRefused() {
    assertRefused(open(false, METHODS).wayOf(plain(), connect("alice", "one"), true), ReasonCode.NOT_AUTHORIZED);
    assertRefused(open(true, METHODS).wayOf(plain(), connect("alice", "one"), true), ReasonCode.NOT_AUTHORIZED);
  }

  @Test
  @Tag("MQTT-4.12.0-1")
  @Tag("pitfall-15")
  void aMethodIsServedOrRefusedButNeverIgnored() {
    assertThat(open(false, BOTH).wayOf(plain(), connect("M"), true)).isEqualTo(new Way.ByMethod(METHOD));
    assertRefused(open(true, BOTH).wayOf(plain(), connect("m"), true), ReasonCode.BAD_AUTHENTICATION_METHOD);
    assertRefused(open(true, BOTH).wayOf(plain(), connect(""), true), ReasonCode.BAD_AUTHENTICATION_METHOD);
    assertRefused(open(true, Authenticators.none()).wayOf(plain(), connect("M"), true), ReasonCode.BAD_AUTHENTICATION_METHOD);
    Peer certified = certified("alice", null);
    assertRefused(open(true, BOTH).wayOf(certified, connect("X"), true), ReasonCode.BAD_AUTHENTICATION_METHOD);
  }

  @Test
  void aCertificateStandsForItsUser() {
    for (Authenticators each : List.of(Authenticators.none(), METHODS, BOTH)) {
      Authentication authentication = open(false, each);
      var alice = new Way.Known(Identity.of("alice"));
      assertThat(authentication.wayOf(certified("alice", null), connect(null, null), false)).isEqualTo(alice);
      assertThat(authentication.wayOf(certified("alice", null), connect("bob", "one"), false)).isEqualTo(alice);
      assertThat(authentication.wayOf(certified(null, "client"), connect(null, null), false))
          .isEqualTo(new Way.Known(Identity.of("client")));
    }
  }

  @Test
  void aCertificateOfAnotherClientIdentifierIsRefused() {
    Authentication authentication = open(true, BOTH);

    assertRefused(
        authentication.wayOf(certified("alice", "other"), connect(null, null), true), ReasonCode.CLIENT_IDENTIFIER_NOT_VALID);
    assertRefused(authentication.wayOf(certified("alice", "other"), connect("M"), true), ReasonCode.CLIENT_IDENTIFIER_NOT_VALID);
    var empty = Packet.Connect.of(ProtocolVersion.MQTT_5, true, 0, "");
    assertThat(authentication.wayOf(certified("alice", "other"), empty, true)).isEqualTo(new Way.Known(Identity.of("alice")));
  }

  @Test
  void onlyOneAuthenticatorForPasswordsAndOneForEachMethodIsAllowed() {
    assertThatThrownBy(() -> open(false, new Authenticators(Optional.empty(), List.of(METHOD, METHOD))))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("method M");
    assertThatThrownBy(() -> Authentication.open(settings("known", "both"), BOTH, InstantSource.system(), new SimpleMeterRegistry()))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("dunlin.auth.provider");
  }

  @Test
  void aProviderIsFoundByItsNameOrItsClass() {
    for (String name : List.of("known", Known.class.getName())) {
      Authentication authentication = Authentication.open(settings(name, "both"), Authenticators.none(), InstantSource.system(), new SimpleMeterRegistry());
      opened.add(authentication);
      assertThat(authentication.authenticates()).isTrue();
    }
    assertThatThrownBy(() -> Authentication.open(settings("unknown", ""), Authenticators.none(), InstantSource.system(), new SimpleMeterRegistry()))
        .isInstanceOf(SettingException.class)
        .hasMessageContainingAll("dunlin.auth.provider", "unknown", "known");
  }

  @Test
  void aProviderThatCannotOpenStopsTheStart() {
    assertThatThrownBy(() -> Authentication.open(settings("known", "broken"), Authenticators.none(), InstantSource.system(), new SimpleMeterRegistry()))
        .isInstanceOf(SettingException.class)
        .hasMessageContainingAll("dunlin.auth.provider", "no such directory server");
  }

  @ParameterizedTest
  @EnumSource(ReasonCode.class)
  void whateverAnAuthenticatorMayAnswerBothVersionsCanSay(ReasonCode reason) {
    Decision.Refused refused;
    try {
      refused = new Decision.Refused(reason, "");
    } catch (IllegalArgumentException _) {
      assertThatThrownBy(() -> new EnhancedAuthenticator.Step.Failure(reason, "")).isInstanceOf(IllegalArgumentException.class);
      return;
    }
    assertThat(refused.reason().isError()).isTrue();
    assertThat(PacketEncoder.connackReturnCode(reason)).isBetween(2, 5);
    assertThat(Refusal.inDisconnect(reason).isError()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a/b", "a\u0000b", "a b", "\u00E4"})
  void aTenantThatKeysCannotHoldIsRefused(String tenant) {
    assertThatThrownBy(() -> new Identity(tenant, "alice")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new Identity("a".repeat(65), "alice")).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void credentialsDoNotShowThePassword() {
    var password = Optional.of("secret".getBytes(StandardCharsets.UTF_8));
    assertThat(new Credentials(plain(), ProtocolVersion.MQTT_5, "c", Optional.of("alice"), password).toString())
        .contains("alice")
        .doesNotContain("password")
        .doesNotContain("[B@");
  }

  @ParameterizedTest
  @EnumSource(ReasonCode.class)
  void onlyFailedAuthenticationsCountAgainstAnAddressAndAUserName(ReasonCode reason) {
    var once = new BlockRule(1, Duration.ofMinutes(1), Duration.ofMinutes(1));
    var meters = new SimpleMeterRegistry();
    Authentication authentication = open(false, BOTH, new GuardSettings(once, 1, BlockRule.none()), meters);

    authentication.count(new Credentials(plain(), ProtocolVersion.MQTT_5, "c", Optional.of("alice"), Optional.empty()), reason);

    boolean guess =
        List.of(ReasonCode.BAD_USER_NAME_OR_PASSWORD, ReasonCode.NOT_AUTHORIZED, ReasonCode.BAD_AUTHENTICATION_METHOD).contains(reason);
    assertThat(authentication.guard().isBlocked(plain().address())).isEqualTo(guess || reason == ReasonCode.CLIENT_IDENTIFIER_NOT_VALID);
    assertThat(meters.get("dunlin.auth.guessed-users").counter().count()).isEqualTo(guess ? 1 : 0);
  }

  /** Found by the test class path's service file. */
  public static final class Known implements AuthenticationProvider {
    @Override
    public String name() {
      return "known";
    }

    @Override
    public Authenticators open(String options) {
      if (options.equals("broken")) throw new IllegalStateException("no such directory server");
      return BOTH;
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"\uD83D", "a\uDE00", "\uD83Da", "\uDE00\uD83D", "a\u0000"})
  void aNameThatIsNoTextIsNobodys(String name) {
    assertThatThrownBy(() -> Identity.of(name)).isInstanceOf(IllegalArgumentException.class);
    assertThat(Identity.of("a\uD83D\uDE00b").user()).hasSize(4);
  }

  /** The only thread is blocked by a first call; then one address makes many attempts, and another one makes one. */
  @Test
  void anAddressThatAsksMuchWaitsForItself() throws Exception {
    var frontend = new OpenFrontend(1);
    var order = Collections.synchronizedList(new ArrayList<String>());
    var begun = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    var over = new CountDownLatch(12);
    try {
      Authentication authentication = open(false, BOTH);
      AskingLoop loop = frontend.asking(0);
      SocketAddress much = new InetSocketAddress("192.0.2.1", 1);
      SocketAddress little = new InetSocketAddress("192.0.2.2", 1);
      ask(
          authentication, loop, much,
          () -> {
            begun.countDown();
            go.await();
            return "first";
          },
          order, over);
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();

      for (int i = 0; i < 10; i++) ask(authentication, loop, much, () -> "much", order, over);
      ask(authentication, loop, little, () -> "little", order, over); // there is room for ten
      go.countDown();

      assertThat(over.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(order).hasSize(12).startsWith("OVERLOADED", "first", "much", "little").endsWith("much");
    } finally {
      frontend.close();
    }
  }

  /** Two calls have no answer; then the client of one goes, and the other one gets an answer. */
  @Test
  void answersThatAreOwedAreBoundedAlsoForClientsThatHaveGone() throws Exception {
    var frontend = new OpenFrontend(1);
    var answers = new LinkedBlockingQueue<String>();
    var meters = new SimpleMeterRegistry();
    try {
      Authentication authentication = open(false, BOTH, GuardSettings.defaults(), meters);
      AskingLoop loop = frontend.asking(0);
      var owed = List.of(new CompletableFuture<String>(), new CompletableFuture<String>());
      var made = new CountDownLatch(2);
      var calls = new ArrayList<AuthenticationCall<String>>();
      for (var each : owed) {
        var call = call(authentication, loop, () -> {
          made.countDown();
          return each;
        }, answers);
        calls.add(call);
        loop.executor().submit(call::start).get();
      }
      assertThat(made.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(meters.get("dunlin.auth.unanswered").gauge().value()).isEqualTo(2);
      loop.executor().submit(calls.getFirst()::cancel).get();

      start(authentication, loop, answers);
      assertThat(answers.poll(60, TimeUnit.SECONDS)).isEqualTo("OVERLOADED");
      owed.getLast().complete("late");
      assertThat(answers.poll(60, TimeUnit.SECONDS)).isEqualTo("late");
      start(authentication, loop, answers);
      assertThat(answers.poll(60, TimeUnit.SECONDS)).isEqualTo("at once");

      loop.executor().schedule(() -> {}, TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).get(); // behind the deadline of the client that has gone
      assertThat(meters.get("dunlin.auth.unanswered").gauge().value()).isZero();
      owed.getFirst().complete("too late");
      assertThat(meters.get("dunlin.auth.unanswered").gauge().value()).isZero();
      assertThat(answers).isEmpty();
    } finally {
      frontend.close();
    }
  }

  private static void start(Authentication authentication, AskingLoop loop, Queue<String> answers) throws Exception {
    loop.executor().submit(call(authentication, loop, () -> CompletableFuture.completedFuture("at once"), answers)::start).get();
  }

  private static AuthenticationCall<String> call(
      Authentication authentication, AskingLoop loop, Callable<CompletionStage<String>> question, Queue<String> answers) {
    return new AuthenticationCall<>(authentication, loop, new InetSocketAddress("192.0.2.1", 1), true, question, answer -> answers.add(text(answer)));
  }

  private static String text(AuthenticationCall.Answer<String> answer) {
    return switch (answer) {
      case AuthenticationCall.Answer.Given<String>(var value) -> value;
      case AuthenticationCall.Answer.Missing<String>(var why) -> why.name();
    };
  }

  private static void ask(
      Authentication authentication, AskingLoop loop, SocketAddress from, Callable<String> question, List<String> order, CountDownLatch over)
      throws Exception {
    var call =
        new AuthenticationCall<String>(
            authentication, loop, from, true, () -> CompletableFuture.completedFuture(question.call()),
            answer -> {
              order.add(text(answer));
              over.countDown();
            });
    loop.executor().submit(call::start).get();
  }

  private Authentication open(boolean anonymous, Authenticators authenticators) {
    return open(anonymous, authenticators, GuardSettings.defaults(), new SimpleMeterRegistry());
  }

  private Authentication open(boolean anonymous, Authenticators authenticators, GuardSettings guard, MeterRegistry meters) {
    var settings = new AuthenticationSettings(anonymous, "*", "", "", UsersSettings.none(), JwtSettings.defaults(), HttpSettings.defaults(), Duration.ZERO, "", Secret.none(), TIMEOUT, 1, 10, UNANSWERED, guard, TenantSettings.none());
    Authentication authentication = Authentication.open(settings, authenticators, InstantSource.system(), meters);
    opened.add(authentication);
    return authentication;
  }

  private static AuthenticationSettings settings(String provider, String options) {
    return new AuthenticationSettings(false, "*", "", "", UsersSettings.none(), JwtSettings.defaults(), HttpSettings.defaults(), Duration.ZERO, provider, Secret.of(options), TIMEOUT, 1, 10, UNANSWERED, GuardSettings.defaults(), TenantSettings.none());
  }

  private static void assertRefused(Way way, ReasonCode reason) {
    assertThat(way).isInstanceOfSatisfying(Way.Refused.class, refused -> assertThat(refused.reason()).isEqualTo(reason));
  }

  private static Peer plain() {
    return Peer.at(new InetSocketAddress("192.0.2.1", 1), "tcp");
  }

  private static Peer certified(@Nullable String user, @Nullable String clientId) {
    return new Peer(
        new InetSocketAddress("192.0.2.1", 1), "tls", true, Optional.empty(), List.of(), Optional.ofNullable(user), Optional.ofNullable(clientId));
  }

  private static Packet.Connect connect(@Nullable String user, @Nullable String password) {
    byte[] bytes = password == null ? null : password.getBytes(StandardCharsets.UTF_8);
    return connect(null, user, bytes);
  }

  private static Packet.Connect connect(String method) {
    return connect(method, null, null);
  }

  @SuppressWarnings("NullAway") // javac loses @Nullable of array components on the constructors of records.
  private static Packet.Connect connect(@Nullable String method, @Nullable String user, byte @Nullable [] password) {
    return new Packet.Connect(
        ProtocolVersion.MQTT_5, true, 0, "client", -1, 65_535, 0, 0, false, true, method, null, user, password, List.of(), null);
  }
}
