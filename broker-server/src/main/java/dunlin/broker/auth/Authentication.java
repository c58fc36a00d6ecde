package dunlin.broker.auth;

import dunlin.broker.auth.AuthenticationProvider.Authenticators;
import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.broker.auth.Authenticator.Decision;
import dunlin.broker.codec.Packet;
import dunlin.broker.guard.Guard;
import dunlin.broker.limit.AddressCounts;
import dunlin.broker.limit.FairLines;
import dunlin.broker.tenant.Tenants;
import dunlin.broker.users.AccessCopy;
import dunlin.broker.users.AccessEntry;
import dunlin.broker.users.BanKind;
import dunlin.broker.users.Directory;
import dunlin.model.Publisher;
import dunlin.model.ReasonCode;
import dunlin.runtime.EventLine;
import dunlin.runtime.LineLimit;
import dunlin.runtime.LogText;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Decides who may connect to a frontend: it has the authenticators and the {@link Authorization}, the threads that call
 * them, and the counts of their answers.
 */
public final class Authentication implements AutoCloseable {
  /*
   * Owner: the class that composes the node opens and closes it and has refresh() called; any thread may call the rest.
   * Bounds: threads, queueMax and answersMax of the settings. Clients wait in a line for each address, and the lines take turns: an
   * address that sends many wrong passwords delays only itself. A client that finds no room (FairLines) is refused with
   * 0x89. The guard has its own bounds. Log lines: EVENTS_A_SECOND; the next line says how many were left out.
   * Failure: if an authenticator fails, only its client is refused (Result.FAILED, TIMED_OUT). If calls never return,
   * the queue fills up, and then all clients are refused.
   */
  private static final Logger log = LoggerFactory.getLogger(Authentication.class);
  private static final Logger events = LoggerFactory.getLogger("dunlin.audit");
  private static final int EVENTS_A_SECOND = 100;
  private static final int IDLE_THREAD_SECONDS = 10;

  /** The result of an attempt to authenticate; a tag of the metrics. */
  public enum Result {
    /** The client was admitted, or stays connected. */
    ACCEPTED,
    /** Its credentials are wrong or insufficient. */
    REFUSED,
    /** Too many attempts from its address have failed, and the address is blocked. */
    LIMITED,
    /** The client has connected too often, and is blocked. */
    FLAPPING,
    /** Too many clients were waiting. */
    OVERLOADED,
    /** The authenticator did not answer in time. */
    TIMED_OUT,
    /** The authenticator failed. */
    FAILED,
    /** The client has disconnected, or did not continue. */
    ABANDONED
  }

  /** How a client has to be authenticated. */
  public sealed interface Way {
    /** No authentication is necessary: the identity is known. */
    record Known(Identity identity) implements Way {}

    record Refused(ReasonCode reason, String explanation) implements Way {}

    record ByCredentials(Authenticator authenticator) implements Way {}

    record ByMethod(EnhancedAuthenticator authenticator) implements Way {}
  }

  private final AuthenticationSettings settings;
  private final ClientIds clientIds;
  private final @Nullable AuthenticationProvider provider;
  private final @Nullable PasswordAuthenticator passwords;
  private final @Nullable AccessCopy users;
  private final @Nullable JwtAuthenticator tokens;
  private final @Nullable HttpAuthenticator http;
  private final InstantSource wall;
  private final Authorization authorization;
  private final @Nullable Authenticator authenticator;
  private final Map<String, EnhancedAuthenticator> methods;
  private final Guard guard;
  private final Tenants tenants;
  private final LineLimit eventLines = new LineLimit(EVENTS_A_SECOND, System::nanoTime);
  private final LineLimit acceptedLines = new LineLimit(EVENTS_A_SECOND, System::nanoTime);
  private final LineLimit failureLines = new LineLimit(1, System::nanoTime);
  private final Map<Result, Counter> decisions = new EnumMap<>(Result.class);
  private final FairLines<AuthenticationCall<?>> waiting;
  private final ThreadPoolExecutor executor;
  private final Counter bansRefused;

  /** Calls that were made and not answered, for the time of a timeout at the longest. */
  private final AtomicInteger unanswered = new AtomicInteger();

  private Authentication(
      AuthenticationSettings settings,
      @Nullable AuthenticationProvider provider,
      @Nullable PasswordAuthenticator passwords,
      @Nullable AccessCopy users,
      @Nullable JwtAuthenticator tokens,
      @Nullable HttpAuthenticator http,
      List<Authenticators> all,
      InstantSource wall,
      MeterRegistry meters) {
    this.settings = settings;
    this.clientIds = ClientIds.of(settings.clientIds());
    this.provider = provider;
    this.passwords = passwords;
    this.users = users;
    this.tokens = tokens;
    this.http = http;
    this.wall = wall;
    this.authorization =
        Authorization.open(
            settings.aclFile(),
            users != null,
            !settings.jwt().meaning().rules().isEmpty() || (settings.http().enabled() && settings.http().rules()),
            all.stream().flatMap(each -> each.authorizer().stream()).toList(),
            meters);
    this.authenticator = onlyAuthenticator(all);
    if (http != null && authenticator != null && authenticator != passwords) {
      throw new SettingException("dunlin.auth.http.url cannot be used together with an authenticator for passwords of dunlin.auth.provider or the embedding application");
    }
    this.methods = byMethod(all);
    this.guard = new Guard(settings.guard(), wall, System::nanoTime, meters);
    this.tenants = new Tenants(settings.tenants(), System::nanoTime, meters);
    this.waiting = new FairLines<>(settings.queueMax());
    AtomicInteger threads = new AtomicInteger();
    this.executor =
        new ThreadPoolExecutor(
            settings.threads(),
            settings.threads(),
            IDLE_THREAD_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), // one task for each client in the lines, which are bounded
            task -> {
              Thread thread = new Thread(task, "dunlin-auth-" + threads.getAndIncrement());
              thread.setDaemon(true);
              return thread;
            });
    executor.allowCoreThreadTimeOut(true);
    register(meters);
    bansRefused =
        Counter.builder("dunlin.auth.bans.refused").description("Clients that were refused or disconnected because they are banned").register(meters);
    if (users != null) users.onChange(this::replace);
  }

  private void replace(Directory directory) {
    if (passwords != null) passwords.replace(directory);
    tenants.replace(directory);
    authorization.replace(directory.rules());
  }

  private void register(MeterRegistry meters) {
    for (Result result : Result.values()) {
      String label = result.name().toLowerCase(Locale.ROOT).replace('_', '-');
      decisions.put(
          result,
          Counter.builder("dunlin.auth.decisions")
              .description("Attempts of clients to authenticate, by result")
              .tag("result", label)
              .register(meters));
    }
    Gauge.builder("dunlin.auth.waiting", waiting, FairLines::size)
        .description("Clients that wait for a thread to authenticate them")
        .register(meters);
    Gauge.builder("dunlin.auth.unanswered", unanswered, AtomicInteger::get)
        .description("Calls of authenticators and authorizers that are not answered")
        .register(meters);
  }

  /**
   * Checks the settings and the files that they name, before anything is opened.
   *
   * @throws SettingException if they are invalid
   */
  public static void check(AuthenticationSettings settings) {
    ClientIds.of(settings.clientIds());
    if (!settings.passwordFile().isEmpty()) PasswordAuthenticator.check(settings.passwordFile());
    JwtAuthenticator.check(settings.jwt());
    if (settings.http().enabled()) settings.http().uri();
    Authorization.check(settings.aclFile());
  }

  /**
   * Checks that the provider that the settings name is on the class path. It is not opened.
   *
   * @throws SettingException if it is not
   */
  public static void checkProvider(AuthenticationSettings settings) {
    if (!settings.provider().isEmpty()) provider(settings.provider());
  }

  /** Whether the settings allow a listener that clients on other machines can reach. */
  public static boolean mayListenAnywhere(AuthenticationSettings settings, Authenticators embedded) {
    return settings.anonymous()
        || !settings.passwordFile().isEmpty()
        || settings.users().enabled()
        || settings.jwt().enabled()
        || settings.http().enabled()
        || !settings.provider().isEmpty()
        || embedded.passwords().isPresent()
        || !embedded.methods().isEmpty();
  }

  /**
   * Opens the files and the provider that the settings name.
   *
   * @param embedded the authenticators of the application that embeds the node
   * @param wall the time that tokens are compared with
   * @throws SettingException if one of them cannot be opened, or if they conflict
   */
  public static Authentication open(AuthenticationSettings settings, Authenticators embedded, InstantSource wall, MeterRegistry meters) {
    List<Authenticators> all = new ArrayList<>();
    all.add(embedded);
    AccessCopy users = settings.users().enabled() ? new AccessCopy(meters) : null;
    PasswordAuthenticator passwords =
        users == null && settings.passwordFile().isEmpty() ? null : PasswordAuthenticator.open(settings.passwordFile(), settings.passwordCache(), meters);
    if (passwords != null) all.add(new Authenticators(Optional.of(passwords), List.of(passwords)));
    AuthenticationProvider provider = settings.provider().isEmpty() ? null : provider(settings.provider());
    JwtAuthenticator tokens = null;
    HttpAuthenticator http = null;
    try {
      if (provider != null) all.add(provider.open(settings.providerOptions().value()));
      if (settings.jwt().enabled()) {
        tokens = JwtAuthenticator.open(settings.jwt(), wall, meters);
        all.add(new Authenticators(Optional.empty(), List.of(tokens)));
      }
      if (settings.http().enabled()) http = new HttpAuthenticator(settings.http(), settings.timeout(), wall, System::nanoTime, meters);
      return new Authentication(settings, provider, passwords, users, tokens, http, all, wall, meters);
    } catch (RuntimeException e) {
      if (provider != null) provider.close();
      if (tokens != null) tokens.close();
      if (http != null) http.close();
      if (provider == null || e instanceof SettingException) throw e;
      // The provider is foreign code; its message is all that is known.
      throw new SettingException("dunlin.auth.provider: %s cannot be opened: %s".formatted(settings.provider(), e.getMessage()), e);
    }
  }

  /** An instance for a frontend that does not authenticate clients. */
  public static Authentication none(MeterRegistry meters) {
    return open(AuthenticationSettings.defaults(), Authenticators.none(), InstantSource.system(), meters);
  }

  private static AuthenticationProvider provider(String name) {
    try {
      ServiceLoader<AuthenticationProvider> known = ServiceLoader.load(AuthenticationProvider.class);
      List<String> names = new ArrayList<>();
      for (ServiceLoader.Provider<AuthenticationProvider> each : known.stream().toList()) {
        AuthenticationProvider provider = each.get();
        if (provider.name().equals(name) || each.type().getName().equals(name)) return provider;
        names.add(provider.name());
      }
      throw new SettingException(
          "dunlin.auth.provider: there is no \"%s\" on the class path; there is %s"
              .formatted(LogText.escaped(name), names.isEmpty() ? "none at all" : String.join(", ", names)));
    } catch (ServiceConfigurationError e) {
      throw new SettingException("dunlin.auth.provider: providers cannot be loaded: " + e.getMessage(), e);
    }
  }

  private static @Nullable Authenticator onlyAuthenticator(List<Authenticators> all) {
    Authenticator only = null;
    for (Authenticators each : all) {
      if (each.passwords().isEmpty()) continue;
      if (only != null) {
        throw new SettingException(
            "dunlin.auth: only one authenticator for passwords is allowed, but several of dunlin.auth.password-file or"
              + " dunlin.auth.users.enabled, dunlin.auth.provider and the embedding application have one");
      }
      only = each.passwords().get();
    }
    return only;
  }

  private static Map<String, EnhancedAuthenticator> byMethod(List<Authenticators> all) {
    Map<String, EnhancedAuthenticator> methods = new HashMap<>();
    for (Authenticators each : all) {
      for (EnhancedAuthenticator one : each.methods()) {
        if (methods.put(one.method(), one) != null) {
          throw new SettingException("dunlin.auth: there are two authenticators for the method " + one.method());
        }
      }
    }
    return Map.copyOf(methods);
  }

  /** Whether clients are authenticated; then a listener may be open to other machines. */
  public boolean authenticates() {
    return authenticator != null || http != null || !methods.isEmpty();
  }

  /** Whether a listener may be open to clients on other machines. */
  public boolean mayListenAnywhere() {
    return authenticates() || settings.anonymous();
  }

  /** Reloads changed files of passwords and keys, fetches keys, and forgets tenants without clients. Must be called about once a second; throws nothing. */
  public void refresh() {
    tenants.sweep();
    if (passwords != null) passwords.refresh();
    if (tokens != null) tokens.refresh();
  }

  /** Reloads changed access rules, and asks for changed users, roles and bans. Must be called some times a second; throws nothing. */
  public void refreshRules() {
    authorization.refresh();
    if (users != null) users.refresh();
  }

  /** This node's copy of users, roles and bans; empty if clients are not judged by them. */
  public Optional<AccessCopy> users() {
    return Optional.ofNullable(users);
  }

  /** In which version of the users a client's user was created; 0 if there is none of this name. */
  public long since(String user) {
    return users == null || user.isEmpty() ? 0 : users.directory().since(user);
  }

  /**
   * Why a client may not connect, before it is authenticated.
   *
   * @param user that the client says it is
   */
  public Optional<Decision.Refused> turnedAway(Peer peer, String clientId, String user) {
    if (users == null) return Optional.empty();
    if (!users.isComplete()) return Optional.of(new Decision.Refused(ReasonCode.SERVER_UNAVAILABLE, "this node does not know its users and bans yet"));
    return banned(users.directory(), peer, clientId, user);
  }

  /**
   * Why an authenticated client may not connect or stay.
   *
   * @param since what {@link #since} has said of the user when the client connected
   */
  public Optional<Decision.Refused> turnedAway(Peer peer, String clientId, String user, long since) {
    if (users == null) return Optional.empty();
    Directory directory = users.directory();
    if (since != 0 && directory.since(user) != since) return Optional.of(new Decision.Refused(ReasonCode.NOT_AUTHORIZED, "the user was deleted"));
    AccessEntry.User known = user.isEmpty() ? null : directory.user(user);
    if (known != null && !known.enabled()) return Optional.of(new Decision.Refused(ReasonCode.NOT_AUTHORIZED, "the user is disabled"));
    return banned(directory, peer, clientId, user);
  }

  private Optional<Decision.Refused> banned(Directory directory, Peer peer, String clientId, String user) {
    Optional<AccessEntry.Ban> ban = directory.ban(clientId, user, peer.address(), wall.millis());
    if (ban.isEmpty()) return Optional.empty();
    bansRefused.increment();
    return Optional.of(new Decision.Refused(ReasonCode.BANNED, "banned by its " + BanKind.of(ban.get()).word()));
  }

  /** What says what clients may do; null if they may do everything. */
  public @Nullable Authorization authorization() {
    return authorization.exists() ? authorization : null;
  }

  /** What says what a client may do; null if it may do everything. */
  public @Nullable Authorization authorization(Claims claims) {
    return claims.rules().isEmpty() ? authorization() : authorization;
  }

  /** How long a client may stay, in milliseconds from now; empty for as long as it likes. */
  public OptionalLong millisLeft(Claims claims) {
    return claims.end().isEmpty() ? OptionalLong.empty() : OptionalLong.of(Math.max(0, Duration.between(wall.instant(), claims.end().get()).toMillis()));
  }

  /**
   * How a client has to be authenticated.
   *
   * @param local whether it is connected to an address that only clients on this machine can reach
   */
  public Way wayOf(Peer peer, Packet.Connect packet, boolean local) {
    if (peer.isAnother(packet.clientId())) {
      return new Way.Refused(ReasonCode.CLIENT_IDENTIFIER_NOT_VALID, "the certificate belongs to another client identifier");
    }
    if (packet.authenticationMethod() != null) {
      EnhancedAuthenticator method = methods.get(packet.authenticationMethod());
      if (method != null) return new Way.ByMethod(method);
      // [MQTT-4.12.0-1]
      return new Way.Refused(ReasonCode.BAD_AUTHENTICATION_METHOD, "this authentication method is not supported");
    }
    String certifiedUser = certifiedUser(peer);
    if (!certifiedUser.isEmpty()) return new Way.Known(Identity.of(certifiedUser));
    if (!authenticates()) {
      // A certificate was checked against the listener's authorities, even if it does not determine the user.
      boolean certificate = !peer.certificates().isEmpty();
      return local || certificate || settings.anonymous() ? new Way.Known(Identity.ANONYMOUS) : nothingShown();
    }
    if (packet.userName() == null && packet.password() == null) {
      if (settings.anonymous()) return new Way.Known(Identity.ANONYMOUS);
      if (peer.certificates().isEmpty()) return nothingShown();
    }
    Authenticator asked = isToken(packet) ? tokens : ofPasswords(packet);
    return asked == null ? nothingShown() : new Way.ByCredentials(asked);
  }

  /** A user whom the broker knows is authenticated by the broker alone, all others by the service, if there is one. */
  private @Nullable Authenticator ofPasswords(Packet.Connect packet) {
    if (http == null) return authenticator;
    return passwords != null && packet.userName() != null && passwords.knows(packet.userName()) ? passwords : http;
  }

  /** What looks like a token is never tried as a password, and no other password as a token, so their order does not matter. */
  private boolean isToken(Packet.Connect packet) {
    return tokens != null && tokens.takes(Optional.ofNullable(packet.userName()), Optional.ofNullable(packet.password()));
  }

  private static Way nothingShown() {
    return new Way.Refused(ReasonCode.NOT_AUTHORIZED, "no credentials that this server accepts were sent");
  }

  /** The user that the client's certificate stands for; empty if it stands for none. */
  public static String certifiedUser(Peer peer) {
    return peer.userName().or(peer::clientId).orElse("");
  }

  AuthenticationSettings settings() {
    return settings;
  }

  /** The client identifiers that a user may have. */
  public ClientIds clientIds() {
    return clientIds;
  }

  /** The tenants of clients. */
  public Tenants tenants() {
    return tenants;
  }

  /** The identity with the tenant that it belongs to, if authentication has named none; empty when its user name or server name names none that can be. */
  public Optional<Identity> placed(Identity who, Peer peer) {
    if (!who.tenant().equals(Publisher.DEFAULT_TENANT)) return Optional.of(who);
    return tenants.placeOf(who.user(), peer.listener(), peer.serverName().orElse(null), who.tenant()).map(tenant -> tenant.equals(who.tenant()) ? who : who.in(tenant));
  }

  /** What blocks addresses and clients. */
  public Guard guard() {
    return guard;
  }

  /**
   * The identity for credentials that were accepted a short time ago, if known. Not to be asked for an address that is
   * blocked, which could guess fast in this way.
   */
  public Optional<Identity> known(Authenticator asked, Credentials credentials) {
    return passwords != null && asked.equals(passwords) ? passwords.known(credentials) : Optional.empty();
  }

  /** Runs a call on one of the threads when it is the turn of its address. A client that finds no room is refused. */
  void execute(AuthenticationCall<?> call) {
    AuthenticationCall<?> without = waiting.offer(sourceOf(call.from()), call);
    if (without == null) executor.execute(this::next);
    else without.noRoom();
  }

  /** Takes a place for one more call that is not answered; false when there is none. */
  boolean mayAsk() {
    if (unanswered.incrementAndGet() <= settings.answersMax()) return true;
    unanswered.decrementAndGet();
    return false;
  }

  /** Gives back a place that was taken. */
  void answered() {
    unanswered.decrementAndGet();
  }

  private void next() {
    AuthenticationCall<?> call = waiting.poll();
    if (call != null) call.run();
  }

  /** The address or network, as in the guard; all clients of Unix domain sockets are one source. */
  static long sourceOf(SocketAddress address) {
    return address instanceof InetSocketAddress inet && inet.getAddress() != null ? AddressCounts.keyOf(inet.getAddress()) : -1;
  }

  /** Counts an authenticator's exception or invalid answer. */
  void failed(Throwable failure) {
    if (failureLines.admits()) log.warn("An authenticator failed; {} more failures were not logged", failureLines.leftOut(), failure);
  }

  public void decided(Result result) {
    Objects.requireNonNull(decisions.get(result)).increment();
  }

  /**
   * An authenticator's answer. If it is a refusal, it counts against the address before the thread asks about the next client, and also when the client has
   * disconnected by then.
   *
   * @param refusal why the answer is a refusal; empty if it is none
   */
  public <T> CompletionStage<T> counted(Credentials who, @Nullable CompletionStage<T> answer, Function<T, Optional<ReasonCode>> refusal) {
    return Objects.requireNonNull(answer, "an authenticator answered null")
        .thenApply(
            given -> {
              refusal.apply(Objects.requireNonNull(given, "an authenticator answered null")).ifPresent(reason -> count(who, reason));
              return given;
            });
  }

  /** Counts a refusal against its address and user name, if the client has failed to authenticate. */
  public void count(Credentials who, ReasonCode reason) {
    if (!isFailure(reason)) return;
    // Who may not have a client identifier may have shown the right password, so this is no guess at it.
    guard.failed(who.peer().address(), reason == ReasonCode.CLIENT_IDENTIFIER_NOT_VALID ? "" : nameIn(who));
  }

  /** The user name, unless it may be a token. */
  private String nameIn(Credentials who) {
    return who.userName().filter(name -> tokens == null || tokens.isName(name)).orElse("");
  }

  /** Logs a refusal, with whether the address is blocked at this moment. */
  public void refused(Credentials who, @Nullable String method, ReasonCode reason, String explanation) {
    if (!eventLines.admits()) return;
    SocketAddress address = who.peer().address();
    EventLine.of(events, Level.INFO, "authentication-refused")
        .text("client", who.clientId())
        .text("user", nameIn(who))
        .text("method", method == null ? "" : method)
        .text("address", address.toString())
        .word("listener", who.peer().listener())
        .word("reason", reason.label())
        .text("explanation", explanation)
        .flag("last", guard.isBlocked(address))
        .number("untold", eventLines.leftOut())
        .write();
  }

  /**
   * Logs that a client with a user name was authenticated and may do what it has asked for.
   *
   * @param again while it is connected
   */
  public void accepted(Peer peer, @Nullable String method, Identity who, String clientId, boolean again) {
    if (who.user().isEmpty() || !events.isDebugEnabled() || !acceptedLines.admits()) return;
    EventLine.of(events, Level.DEBUG, "authentication-accepted")
        .text("client", clientId)
        .text("user", who.user())
        .word("tenant", who.tenant())
        .text("method", method == null ? "" : method)
        .text("address", peer.address().toString())
        .word("listener", peer.listener())
        .flag("again", again)
        .number("untold", acceptedLines.leftOut())
        .write();
  }

  /** Whether the client has failed to authenticate. It has not when the server fails, has no room for it or sends it to another server, nor when it is banned. */
  private static boolean isFailure(ReasonCode reason) {
    return switch (reason) {
      case BAD_USER_NAME_OR_PASSWORD, NOT_AUTHORIZED, BAD_AUTHENTICATION_METHOD, CLIENT_IDENTIFIER_NOT_VALID -> true;
      default -> false;
    };
  }

  @Override
  public void close() {
    executor.shutdownNow();
    if (tokens != null) tokens.close();
    if (http != null) http.close();
    if (provider != null) provider.close();
  }
}
