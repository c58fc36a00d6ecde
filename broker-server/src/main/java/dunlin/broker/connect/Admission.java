package dunlin.broker.connect;

import dunlin.broker.access.Grant;
import dunlin.broker.access.Subject;
import dunlin.broker.auth.Authentication;
import dunlin.broker.auth.AuthenticationCall;
import dunlin.broker.auth.AuthenticationCall.Answer;
import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.broker.auth.Authenticator.Decision;
import dunlin.broker.auth.Authorization;
import dunlin.broker.auth.Claims;
import dunlin.broker.auth.ClientIds;
import dunlin.broker.auth.EnhancedAuthenticator;
import dunlin.broker.auth.EnhancedAuthenticator.Exchange;
import dunlin.broker.auth.EnhancedAuthenticator.Step;
import dunlin.broker.auth.Identity;
import dunlin.broker.auth.Peer;
import dunlin.broker.auth.Refusal;
import dunlin.broker.codec.Packet;
import dunlin.broker.codec.Will;
import dunlin.broker.meter.Denials;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.SessionAccess;
import dunlin.broker.users.AccessCopy;
import dunlin.broker.users.Directory;
import dunlin.model.ReasonCode;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The authentication of one client, from its CONNECT to the decision, and the re-authentications of a client with an
 * authentication method; MQTT 5, sections 3.1.4 and 4.12.
 *
 * <pre>
 *   asking the authenticator  -> waiting for the client   AUTH 0x18 is written
 *   waiting for the client    -> asking                   the client's AUTH 0x18
 *   asking                    -> asking the authorizer    the client is authenticated, and there are access rules
 *   asking, asking the authorizer -> decided              admitted, or refused and closed
 *   decided                   -> asking                   the client's AUTH 0x19, while it is connected
 * </pre>
 */
final class Admission {
  /*
   * Owner: the connection's event loop.
   * Bounds: one for each connection; one call of the authenticator or one wait for the client at a time; ROUNDS_MAX
   * rounds. The connect timeout bounds how long the client may take for an AUTH; before CONNACK it runs for all packets
   * together.
   * Failure: anything but an acceptance refuses the client; the session is not touched before the acceptance.
   */
  private static final int ROUNDS_MAX = 16;
  private static final byte[] NOTHING = {};

  private final Connection connection;
  private final Authentication authentication;
  private final @Nullable String method;

  /** The CONNECT, until the decision. */
  private Packet.@Nullable Connect packet;

  private Credentials credentials;
  private @Nullable EnhancedAuthenticator authenticator;
  private @Nullable Identity identity;
  private @Nullable AuthenticationCall<?> call;

  /** The exchange that waits for the client's AUTH. */
  private @Nullable Exchange exchange;

  private @Nullable ScheduledFuture<?> deadline;

  /** The users as they were before the client was authenticated, until the decision. */
  private @Nullable Directory begun;

  private int rounds;
  private boolean undecided = true;

  /** An exchange and its last step. */
  private record Turn(Exchange exchange, Step step) {
    Turn {
      Objects.requireNonNull(step, "an exchange answered null");
    }
  }

  Admission(Connection connection, Packet.Connect packet) {
    this.connection = connection;
    this.authentication = connection.home().reception().authentication();
    this.packet = packet;
    this.method = packet.authenticationMethod();
    this.credentials =
        new Credentials(
            connection.peer(),
            packet.version(),
            packet.clientId(),
            Optional.ofNullable(packet.userName()),
            Optional.ofNullable(packet.password()));
  }

  void start() {
    begun = authentication.users().map(AccessCopy::directory).orElse(null);
    var away = authentication.turnedAway(credentials.peer(), credentials.clientId(), credentials.userName().orElse(""));
    if (away.isPresent()) {
      countAndRefuse(away.get().reason(), away.get().explanation());
      return;
    }
    var way = authentication.wayOf(credentials.peer(), Objects.requireNonNull(packet), connection.isLocal());
    if (!(way instanceof Authentication.Way.Known) && authentication.guard().isBlocked(credentials.peer().address())) {
      unanswered(Authentication.Result.LIMITED);
      return;
    }
    Credentials who = credentials;
    switch (way) {
      case Authentication.Way.Known(var known) -> accepted(known, Claims.none(), NOTHING);
      case Authentication.Way.Refused(var reason, var explanation) -> countAndRefuse(reason, explanation);
      case Authentication.Way.ByCredentials(var asked) ->
          authentication
              .known(asked, who)
              .ifPresentOrElse(
                  known -> accepted(known, Claims.none(), NOTHING),
                  () -> ask(() -> authentication.counted(who, asked.authenticate(who), Admission::refusalIn), this::decided));
      case Authentication.Way.ByMethod(var asked) -> {
        authenticator = asked;
        begin(asked, packet.authenticationData());
      }
    }
  }

  /** Whether the client has to send the next packet, which must be AUTH. */
  boolean waitsForClient() {
    return exchange != null;
  }

  private <T> void ask(Callable<CompletionStage<T>> question, Consumer<T> then) {
    ask(true, question, then, this::unanswered);
  }

  private <T> void ask(boolean verifies, Callable<CompletionStage<T>> question, Consumer<T> then, Consumer<Authentication.Result> otherwise) {
    var asked =
        new AuthenticationCall<T>(
            authentication,
            connection.loop(),
            credentials.peer().address(),
            verifies,
            question,
            answer -> {
              call = null;
              switch (answer) {
                case Answer.Given<T>(var value) -> then.accept(value);
                case Answer.Missing<T>(var why) -> otherwise.accept(why);
              }
            });
    call = asked;
    asked.start();
  }

  private void decided(Decision decision) {
    switch (decision) {
      case Decision.Accepted(var who, var claims) -> accepted(who, claims, NOTHING);
      case Decision.Refused(var reason, var explanation) -> refuse(reason, explanation);
    }
  }

  private static Optional<ReasonCode> refusalIn(Decision decision) {
    return decision instanceof Decision.Refused(var reason, _) ? Optional.of(reason) : Optional.empty();
  }

  // ------------------------------------------------------------------------------------------------- with an authentication method

  private void begin(EnhancedAuthenticator asked, byte @Nullable [] data) {
    rounds = 0;
    Credentials who = credentials;
    ask(
        () -> {
          Exchange begun = Objects.requireNonNull(asked.begin(who), "an authenticator began no exchange");
          return next(who, begun, data);
        },
        this::stepped);
  }

  private CompletionStage<Turn> next(Credentials who, Exchange exchange, byte @Nullable [] data) {
    return authentication.counted(who, exchange.next(data == null ? NOTHING : data), Admission::failureIn).thenApply(step -> new Turn(exchange, step));
  }

  private static Optional<ReasonCode> failureIn(Step step) {
    return step instanceof Step.Failure(var reason, _) ? Optional.of(reason) : Optional.empty();
  }

  private void stepped(Turn turn) {
    switch (turn.step()) {
      case Step.Continue(var data) -> goOn(turn.exchange(), data);
      case Step.Success(var data, var who, var claims) -> accepted(who, claims, data);
      case Step.Failure(var reason, var explanation) -> refuse(reason, explanation);
    }
  }

  private void goOn(Exchange with, byte[] data) {
    rounds++;
    if (rounds > ROUNDS_MAX) {
      countAndRefuse(ReasonCode.NOT_AUTHORIZED, "no decision after " + ROUNDS_MAX + " rounds");
      return;
    }
    connection.writer().writePacket(answer(ReasonCode.CONTINUE_AUTHENTICATION, data)); // [MQTT-4.12.0-2]
    if (!undecided) return; // the packet was too large for the client, and the connection has ended
    exchange = with;
    long millis = connection.loop().settings().connections().connectTimeout().toMillis();
    deadline = connection.loop().executor().schedule(this::clientSilent, millis, TimeUnit.MILLISECONDS);
  }

  /** Always with the method of CONNECT [MQTT-4.12.0-5]. */
  private Packet.Auth answer(ReasonCode reason, byte[] data) {
    return new Packet.Auth(reason, Objects.requireNonNull(method), data.length == 0 ? null : data, null, List.of());
  }

  /** Handles AUTH of a client with an authentication method. */
  void auth(Packet.Auth auth) {
    if (!auth.authenticationMethod().equals(method)) { // [MQTT-4.12.0-5]
      // DISCONNECT has no specific code for this.
      connection.violated(
          connection.live() ? ReasonCode.PROTOCOL_ERROR : ReasonCode.BAD_AUTHENTICATION_METHOD,
          null,
          "AUTH with a different method than CONNECT");
    } else if (auth.reason() == ReasonCode.RE_AUTHENTICATE) {
      if (undecided) connection.violated(ReasonCode.PROTOCOL_ERROR, null, "AUTH 0x19 while an authentication is in progress");
      else authenticateAgain(auth.authenticationData());
    } else if (exchange == null) {
      connection.violated(ReasonCode.PROTOCOL_ERROR, null, "AUTH 0x18 without an authentication that continues");
    } else {
      Exchange with = exchange;
      stopWaiting();
      Credentials who = credentials;
      ask(() -> next(who, with, auth.authenticationData()), this::stepped);
    }
  }

  /** MQTT 5, section 4.12.1: other packets are processed as before. */
  private void authenticateAgain(byte @Nullable [] data) {
    undecided = true;
    if (authentication.guard().isBlocked(credentials.peer().address())) unanswered(Authentication.Result.LIMITED);
    else begin(Objects.requireNonNull(authenticator), data);
  }

  private void clientSilent() {
    stopWaiting();
    end();
    connection.reject(ReasonCode.NOT_AUTHORIZED, "the client did not continue its authentication in time");
  }

  private void stopWaiting() {
    exchange = null;
    if (deadline != null) deadline.cancel(false);
  }

  // ------------------------------------------------------------------------------------------------------------- what came of it

  private void accepted(Identity known, Claims claims, byte[] data) {
    Optional<Identity> placed = authentication.placed(known, credentials.peer());
    if (placed.isEmpty()) {
      countAndRefuse(ReasonCode.NOT_AUTHORIZED, "neither the user name (dunlin.tenants.from-user-name) nor the server name (tenant-by-server-name) names a tenant");
      return;
    }
    Identity who = placed.get();
    Packet.Connect connecting = packet;
    String named = connecting == null ? Objects.requireNonNull(connection.session()).clientId() : clientId(connecting.clientId());
    // A user that was deleted while its password was verified had been there when that began.
    long before = begun == null ? 0 : begun.since(who.user());
    long since = before != 0 ? before : authentication.since(who.user());
    var away = authentication.turnedAway(credentials.peer(), named, who.user(), since);
    if (away.isPresent()) {
      countAndRefuse(away.get().reason(), away.get().explanation());
      return;
    }
    String certified = Authentication.certifiedUser(credentials.peer());
    if (!certified.isEmpty() && !certified.equals(who.user())) {
      countAndRefuse(ReasonCode.NOT_AUTHORIZED, "the certificate belongs to another user");
    } else if (connecting != null && !mayHave(who, connecting.clientId())) {
      // The user is admitted, but not with this client identifier (0x85). "Not authorized" would not say that another
      // identifier is accepted.
      countAndRefuse(ReasonCode.CLIENT_IDENTIFIER_NOT_VALID, "this user may not have this client identifier (dunlin.auth.client-ids)");
    } else if (connecting != null) {
      String clientId = clientId(who, connecting.clientId());
      if (authentication.guard().isBlocked(who.tenant(), clientId)) {
        unanswered(Authentication.Result.FLAPPING);
        return;
      }
      connection.userSince(since);
      authorize(connecting, new Admitted(who, clientId, data.length == 0 ? null : data, claims, null));
    } else if (!who.equals(identity)) {
      countAndRefuse(ReasonCode.NOT_AUTHORIZED, "re-authenticated as another user");
    } else if (!renewed(who, claims)) {
      countAndRefuse(ReasonCode.NOT_AUTHORIZED, "re-authenticated with access rules of its own, and had none");
    } else {
      authentication.accepted(credentials.peer(), method, who, named, true);
      finish(Authentication.Result.ACCEPTED);
      connection.writer().writePacket(answer(ReasonCode.SUCCESS, data));
    }
  }

  /** The client's identifier: that of CONNECT, else that of the certificate, else one that its user may have. */
  private String clientId(Identity who, String asked) {
    if (!asked.isEmpty()) return asked;
    return credentials.peer().clientId().or(() -> authentication.clientIds().assign(who.user())).orElseThrow();
  }

  /** What the client has shown now replaces what it has shown before. */
  private boolean renewed(Identity who, Claims claims) {
    LiveSession session = Objects.requireNonNull(connection.session());
    Authorization authorization = authentication.authorization(claims);
    if (authorization != null) {
      Subject client = Authorization.subject(who, session.clientId(), credentials.peer(), claims);
      Optional<Grant> grant = authorization.known(client, claims.rules());
      if (grant.isPresent() && !session.replaceAccess(client, grant.get())) return false;
    }
    connection.endIn(authentication.millisLeft(claims));
    return true;
  }

  /** Finds out what the client may do, if there are access rules. */
  private void authorize(Packet.Connect connecting, Admitted candidate) {
    Authorization authorization = authentication.authorization(candidate.claims());
    if (authorization == null) {
      admit(connecting, candidate);
      return;
    }
    Peer peer = credentials.peer();
    Subject client = Authorization.subject(candidate.identity(), candidate.clientId(), peer, candidate.claims());
    Consumer<Grant> granted =
        grant ->
            admit(connecting, candidate.with(new SessionAccess(client, grant, authorization.verdicts(), connection.loop().meters().denials())));
    authorization
        .known(client, candidate.claims().rules())
        .ifPresentOrElse(
            granted,
            () -> ask(false, () -> authorization.ask(client, Optional.of(peer)), granted, this::notAuthorized));
  }

  private void admit(Packet.Connect connecting, Admitted client) {
    Will will = connecting.will();
    SessionAccess access = client.access();
    if (access != null && will != null && !access.mayPublish(Denials.Kind.WILL, will.topic(), will.qos(), will.retain())) {
      finish(Authentication.Result.REFUSED);
      turnAway(ReasonCode.NOT_AUTHORIZED, "the client may not publish its will");
      return;
    }
    authentication.accepted(credentials.peer(), method, client.identity(), client.clientId(), false);
    finish(Authentication.Result.ACCEPTED);
    identity = client.identity();
    connection.endIn(authentication.millisLeft(client.claims()));
    connection.admitted(connecting, client);
  }

  /** There is no answer to what the client may do, so it may do nothing. */
  private void notAuthorized(Authentication.Result why) {
    if (why == Authentication.Result.OVERLOADED) {
      unanswered(why);
      return;
    }
    finish(why);
    turnAway(ReasonCode.NOT_AUTHORIZED, "there is no answer to what the client may do");
  }

  /** An empty client identifier lets the certificate choose, and otherwise the server. */
  private boolean mayHave(Identity who, String asked) {
    ClientIds ids = authentication.clientIds();
    String clientId = clientId(asked);
    return clientId.isEmpty() ? ids.assign(who.user()).isPresent() : ids.allows(who.user(), clientId);
  }

  /** The client identifier of CONNECT, else that of the certificate, else empty. */
  private String clientId(String asked) {
    return asked.isEmpty() ? credentials.peer().clientId().orElse("") : asked;
  }

  /** Refuses the client for what was found here, on the event loop. */
  private void countAndRefuse(ReasonCode reason, String explanation) {
    authentication.count(credentials, reason);
    refuse(reason, explanation);
  }

  /** Refuses the client by an authenticator's answer, which was counted before it came here. */
  private void refuse(ReasonCode reason, String explanation) {
    authentication.refused(credentials, method, reason, explanation);
    finish(Authentication.Result.REFUSED);
    turnAway(reason, explanation);
  }

  private void turnAway(ReasonCode reason, String explanation) {
    connection.reject(connection.live() ? Refusal.inDisconnect(reason) : reason, explanation);
  }

  /** Refuses the client for a reason other than its credentials. */
  private void unanswered(Authentication.Result why) {
    finish(why);
    switch (why) {
      // As a ban; "server unavailable" would invite an MQTT 3 client to try again at once.
      case LIMITED -> turnAway(ReasonCode.BANNED, "too many failed authentications from this address (dunlin.auth.failures-max)");
      // MQTT 3 clients get 3, "server unavailable", which is true of this client for a while. 5 would say that its credentials are wrong, and a device may
      // then give up for ever; here it is to come back after the block.
      case FLAPPING -> turnAway(ReasonCode.CONNECTION_RATE_EXCEEDED, "this client identifier connects too often (dunlin.flapping.connects-max)");
      case OVERLOADED -> turnAway(ReasonCode.SERVER_BUSY, "too many clients wait to be authenticated (dunlin.auth.queue-max)");
      case TIMED_OUT -> turnAway(ReasonCode.SERVER_UNAVAILABLE, "the client was not authenticated in time (dunlin.auth.timeout)");
      case FAILED -> turnAway(ReasonCode.UNSPECIFIED_ERROR, "the authentication failed on the server's side");
      case ACCEPTED, REFUSED, ABANDONED -> throw new IllegalStateException("answered: " + why);
    }
  }

  /** Ends the authentication with the connection. */
  void end() {
    if (call != null) call.cancel();
    stopWaiting();
    if (undecided) finish(Authentication.Result.ABANDONED);
  }

  private void finish(Authentication.Result result) {
    undecided = false;
    begun = null;
    authentication.decided(result);
    credentials.password().ifPresent(bytes -> Arrays.fill(bytes, (byte) 0));
    credentials =
        new Credentials(credentials.peer(), credentials.version(), credentials.clientId(), Optional.empty(), Optional.empty());
    packet = null;
  }
}
