package dunlin.broker.auth;

import dunlin.broker.jwt.JwtSettings;
import dunlin.broker.jwt.JwtSettings.TokenField;
import dunlin.broker.jwt.KeyRing;
import dunlin.broker.jwt.RemoteKeys;
import dunlin.broker.jwt.TokenChecker;
import dunlin.broker.jwt.TokenKeys;
import dunlin.broker.jwt.TokenVerdict;
import dunlin.model.ReasonCode;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Authenticates clients by JSON Web Tokens: in a field of CONNECT, and as the authentication method of MQTT 5
 * {@value #METHOD}, whose data is the token and with which a connected client shows its next one.
 */
final class JwtAuthenticator implements Authenticator, EnhancedAuthenticator, AutoCloseable {
  /*
   * Owner: one thread calls refresh(); any thread calls the rest. Tokens are checked on the threads of Authentication, which bounds how
   * many at a time, and lets addresses take turns.
   * Bounds: those of TokenChecker and RemoteKeys; FILE_MAX bytes of a file.
   * Failure: see FollowedFile and RemoteKeys: once keys are there, the last good ones stay. Until then, clients are refused with 0x88.
   */
  static final String METHOD = "OAUTH2-JWT";

  private static final Logger log = LoggerFactory.getLogger(JwtAuthenticator.class);
  private static final String SECRET_FILE = "dunlin.auth.jwt.secret-file";
  private static final String KEYS_FILE = "dunlin.auth.jwt.keys-file";
  private static final String SECRET_RELOADS = "dunlin.auth.jwt.secret-file.reloads";
  private static final String KEYS_RELOADS = "dunlin.auth.jwt.keys-file.reloads";
  private static final int FILE_MAX = 256 * 1_024;
  private static final byte[] NOTHING = {};

  private final JwtSettings settings;
  private final @Nullable RemoteKeys remote;
  private final KeyRing keys;
  private final TokenChecker checker;
  private final @Nullable FollowedFile secretFile;
  private final @Nullable FollowedFile keysFile;

  private JwtAuthenticator(JwtSettings settings, InstantSource wall, MeterRegistry meters) {
    this.settings = settings;
    JwtSettings.Keys sources = settings.keys();
    remote = sources.url().isEmpty() ? null : new RemoteKeys(sources, meters);
    keys = new KeyRing(remote);
    checker = new TokenChecker(settings, keys, wall, meters);
    secretFile =
        sources.secretFile().isEmpty()
            ? null
            : FollowedFile.open(SECRET_FILE, sources.secretFile(), "secrets", this::loadSecret, SECRET_RELOADS, meters);
    keysFile =
        sources.keysFile().isEmpty()
            ? null
            : FollowedFile.open(KEYS_FILE, sources.keysFile(), "keys", path -> keys.file(publicKeys(path, sources)), KEYS_RELOADS, meters);
    Gauge.builder("dunlin.auth.jwt.keys", keys, KeyRing::size).description("Keys that tokens may be signed with").register(meters);
  }

  /** @throws SettingException under the same conditions as open, but for what a URL answers */
  static void check(JwtSettings settings) {
    settings.check();
    JwtSettings.Keys sources = settings.keys();
    if (!sources.secretFile().isEmpty()) FollowedFile.check(SECRET_FILE, sources.secretFile(), path -> secret(path, sources).size());
    if (!sources.keysFile().isEmpty()) FollowedFile.check(KEYS_FILE, sources.keysFile(), path -> publicKeys(path, sources).size());
  }

  /**
   * Reads the files, and begins to fetch the keys of the URL; it is not waited for.
   *
   * @param wall the time that tokens are compared with
   * @throws SettingException if settings do not fit, or a file cannot be read or is invalid
   */
  static JwtAuthenticator open(JwtSettings settings, InstantSource wall, MeterRegistry meters) {
    check(settings);
    JwtAuthenticator opened = new JwtAuthenticator(settings, wall, meters);
    if (settings.demands().audience().isEmpty() && (opened.remote != null || opened.keysFile != null)) {
      log.warn("dunlin.auth.jwt.audience is not set: tokens that the issuer has made for other applications are accepted");
    }
    opened.refresh();
    return opened;
  }

  private int loadSecret(Path path) throws IOException {
    TokenKeys read = secret(path, settings.keys());
    String tooWide = PasswordFile.tooWide(path);
    if (!tooWide.isEmpty()) log.warn("{}: {} has permissions {}, it should have rw-r----- at most", SECRET_FILE, path, tooWide);
    return keys.secret(read);
  }

  private static TokenKeys secret(Path path, JwtSettings.Keys sources) throws IOException {
    try {
      return TokenKeys.ofSecret(bytes(path), sources.secret());
    } catch (TokenKeys.MalformedException e) {
      throw new FollowedFile.MalformedException(String.valueOf(e.getMessage()));
    }
  }

  private static TokenKeys publicKeys(Path path, JwtSettings.Keys sources) throws IOException {
    try {
      return TokenKeys.ofFile(new String(bytes(path), StandardCharsets.UTF_8), sources.signing());
    } catch (TokenKeys.MalformedException e) {
      throw new FollowedFile.MalformedException(String.valueOf(e.getMessage()));
    }
  }

  private static byte[] bytes(Path path) throws IOException {
    if (Files.size(path) > FILE_MAX) throw new FollowedFile.MalformedException("larger than " + FILE_MAX + " bytes");
    return Files.readAllBytes(path);
  }

  /** Reads changed files again, and fetches keys when it is time. Called about once a second; throws nothing. */
  void refresh() {
    if (secretFile != null) secretFile.refresh();
    if (keysFile != null) keysFile.refresh();
    if (remote != null) remote.tick();
  }

  /** Whether a CONNECT with these fields shows a token, be it right or wrong; any other is for a password file. */
  boolean takes(Optional<String> userName, Optional<byte[]> password) {
    return shown(userName, password).filter(checker::looksLikeToken).isPresent();
  }

  private Optional<byte[]> shown(Optional<String> userName, Optional<byte[]> password) {
    return settings.tokenIn() == TokenField.PASSWORD ? password : userName.map(name -> name.getBytes(StandardCharsets.UTF_8));
  }

  /** Whether a user name is one, and no token that must not be logged. */
  boolean isName(String userName) {
    return settings.tokenIn() == TokenField.PASSWORD || !checker.looksLikeToken(userName.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public CompletionStage<Decision> authenticate(Credentials credentials) {
    return CompletableFuture.completedFuture(decide(credentials, shown(credentials.userName(), credentials.password()).orElse(NOTHING)));
  }

  private Decision decide(Credentials credentials, byte[] token) {
    return switch (checker.check(token)) {
      case TokenVerdict.Accepted accepted -> admit(credentials, accepted);
      // It is no failure of the client, and it may try again.
      case TokenVerdict.Refused(var reason, var why) ->
          new Decision.Refused(reason == TokenVerdict.Reason.KEY_AWAITED ? ReasonCode.SERVER_UNAVAILABLE : ReasonCode.NOT_AUTHORIZED, why);
    };
  }

  private Decision admit(Credentials credentials, TokenVerdict.Accepted token) {
    String named = credentials.userName().orElse("");
    if (settings.meaning().matchUserName() && !named.isEmpty() && !named.equals(token.user())) {
      return new Decision.Refused(ReasonCode.NOT_AUTHORIZED, "the token is for another user (dunlin.auth.jwt.match-user-name)");
    }
    String asked = credentials.clientId().isEmpty() ? credentials.peer().clientId().orElse("") : credentials.clientId();
    if (!token.clientIds().isEmpty() && !token.clientIds().contains(asked)) {
      return new Decision.Refused(ReasonCode.CLIENT_IDENTIFIER_NOT_VALID, "the token is for another client identifier (dunlin.auth.jwt.client-id-claim)");
    }
    Claims claims = new Claims(Optional.of(token.end()), token.attributes(), token.rules());
    try {
      return new Decision.Accepted(token.tenant().isEmpty() ? Identity.of(token.user()) : new Identity(token.tenant(), token.user()), claims);
    } catch (IllegalArgumentException _) {
      return new Decision.Refused(ReasonCode.NOT_AUTHORIZED, "the token's user or tenant is no valid name");
    }
  }

  @Override
  public String method() {
    return METHOD;
  }

  @Override
  public Exchange begin(Credentials credentials) {
    return data -> CompletableFuture.completedFuture(step(decide(credentials, data)));
  }

  private static Step step(Decision decision) {
    return switch (decision) {
      case Decision.Accepted(var identity, var claims) -> new Step.Success(NOTHING, identity, claims);
      case Decision.Refused(var reason, var explanation) -> new Step.Failure(reason, explanation);
    };
  }

  @Override
  public void close() {
    if (remote != null) remote.close();
  }
}
