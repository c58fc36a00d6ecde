package dunlin.broker.auth;

import dunlin.broker.access.Access;
import dunlin.broker.access.AccessAction;
import dunlin.broker.access.AccessRule;
import dunlin.broker.access.AclFile;
import dunlin.broker.access.Grant;
import dunlin.broker.access.Policy;
import dunlin.broker.access.RoleRules;
import dunlin.broker.access.RuleSet;
import dunlin.broker.access.Subject;
import dunlin.broker.access.Verdicts;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Where the policies of clients come from: the file of rules, behind it the rules of the user's roles, and behind these the rules of a client's
 * own {@link Claims}, or an {@link Authorizer} of the application. Without any of these, clients may do everything within their tenant.
 */
public final class Authorization {
  /*
   * Owner: one thread calls refresh(); any thread calls the rest.
   * Bounds: those of AclFile, of the directory of users and of Verdicts.
   * Failure: see FollowedFile. There is always a set of rules: if the file becomes invalid or disappears, the last one
   * stays. An Authorizer that fails is a client that is refused; see Admission.
   */
  private static final String KEY = "dunlin.auth.acl-file";
  private static final String RELOADS = "dunlin.auth.acl-file.reloads";

  /** The rules of a client's own credentials are not known when its will is sent. They have allowed it at CONNECT. */
  private static final List<AccessRule> CHECKED_AT_CONNECT = List.of(AccessRule.of(true, Set.of(AccessAction.PUBLISH), "#"));

  private final Verdicts verdicts = new Verdicts();
  private final @Nullable Authorizer authorizer;
  private final @Nullable FollowedFile file;
  private final boolean ofTokens;

  private final boolean ofUsers;

  /** Those of the file and of roles; replaced as a whole by refresh() and replace(), under the lock. */
  private volatile RuleSet rules = new RuleSet();

  private final Object lock = new Object();
  private RoleRules roles = RoleRules.none(); // guarded by the lock

  private volatile Runnable changed = () -> {};

  private Authorization(String file, boolean ofUsers, boolean ofTokens, @Nullable Authorizer authorizer, MeterRegistry meters) {
    this.authorizer = authorizer;
    this.ofUsers = ofUsers;
    this.ofTokens = ofTokens;
    this.file = file.isEmpty() ? null : FollowedFile.open(KEY, file, "rules", this::load, RELOADS, meters);
    Gauge.builder("dunlin.auth.verdicts", verdicts, Verdicts::size)
        .description("Decisions about topics and topic filters that are remembered")
        .register(meters);
    if (this.file == null) return;
    Gauge.builder("dunlin.auth.acl-file.rules", this, each -> each.rules.size())
        .description("Rules of the file of access rules as it was last read")
        .register(meters);
  }

  /** @throws SettingException if the file cannot be read or is invalid, naming line and column */
  static void check(String file) {
    if (!file.isEmpty()) FollowedFile.check(KEY, file, path -> read(path).size());
  }

  /**
   * Opens the file of rules, or takes the authorizer of the application.
   *
   * @param file empty for none
   * @param ofUsers whether users have roles with rules
   * @param ofTokens whether tokens bring rules
   * @throws SettingException if the file cannot be read or is invalid, or if there are several sources
   */
  static Authorization open(String file, boolean ofUsers, boolean ofTokens, List<Authorizer> authorizers, MeterRegistry meters) {
    if (authorizers.size() + (file.isEmpty() && !ofTokens && !ofUsers ? 0 : 1) > 1) {
      throw new SettingException(
          "dunlin.auth: only one source of access rules is allowed, but several of dunlin.auth.acl-file, dunlin.auth.users.enabled or dunlin.auth.jwt.acl-claim,"
              + " dunlin.auth.provider and the embedding application have one");
    }
    return new Authorization(file, ofUsers, ofTokens, authorizers.isEmpty() ? null : authorizers.getFirst(), meters);
  }

  /** Whether there are rules for all clients, so that one without rules of its own may do nothing. */
  boolean exists() {
    return file != null || ofUsers || ofTokens || authorizer != null;
  }

  private int load(Path path) throws IOException {
    RuleSet read = read(path);
    synchronized (lock) {
      rules = read.with(roles);
    }
    return read.size();
  }

  private static RuleSet read(Path path) throws IOException {
    try {
      return AclFile.read(path);
    } catch (AclFile.MalformedException e) {
      throw new FollowedFile.MalformedException(String.valueOf(e.getMessage()));
    }
  }

  /** Sets what is run after the rules have changed, on the thread that calls {@link #refresh} or replaces roles. */
  public void onChange(Runnable task) {
    changed = task;
  }

  /** Reads a changed file again. Must be called some times a second; throws nothing. */
  void refresh() {
    if (file != null && file.refresh()) changed.run();
  }

  /** Replaces the rules of roles, and the roles of users. */
  void replace(RoleRules ofRoles) {
    synchronized (lock) {
      roles = ofRoles;
      rules = rules.with(ofRoles);
    }
    changed.run();
  }

  /** The client that rules are applied to. */
  public static Subject subject(Identity identity, String clientId, Peer peer, Claims claims) {
    Map<String, String> attributes = new HashMap<>(CertificateSubject.attributesOf(peer));
    claims.attributes().forEach((name, text) -> attributes.put("token." + name, text));
    return new Subject(identity.tenant(), clientId, identity.user(), attributes, true);
  }

  /** The client that left a will, when its connection has ended. */
  public static Subject absent(String tenant, String clientId, String user) {
    return new Subject(tenant, clientId, user, Map.of(), false);
  }

  /**
   * The policy of a client, if it is known without asking an authorizer.
   *
   * @param own the rules of its credentials
   */
  public Optional<Grant> known(Subject client, List<AccessRule> own) {
    return authorizer != null ? Optional.empty() : Optional.of(Grant.following(() -> rules, client, own));
  }

  /**
   * The policy by which a will is sent, if it is known without asking an authorizer.
   *
   * @param client as of {@link #absent}
   * @param underRules whether the rules of its credentials, if it had any, did not allow the will; see {@link #claimsAllow}
   */
  public Optional<Grant> ofWill(Subject client, boolean underRules) {
    return known(client, underRules || !ofTokens ? List.of() : CHECKED_AT_CONNECT);
  }

  /** What the file and the user's roles say of a client whose credentials bring no rules. */
  public Policy policyOf(Subject client) {
    return rules.policyOf(client);
  }

  /** Whether the rules of a client's own credentials allow something, whatever rules stand before them. */
  public static boolean claimsAllow(Identity identity, String clientId, Peer peer, Claims claims, Access asked) {
    if (claims.rules().isEmpty()) return false;
    return Policy.of(subject(identity, clientId, peer, claims), claims.rules()).decide(asked).allowed();
  }

  /** Asks the authorizer, if {@link #known} has no answer. */
  public CompletionStage<Grant> ask(Subject client, Optional<Peer> peer) {
    return Objects.requireNonNull(authorizer, "no authorizer")
        .authorize(client, peer)
        .thenApply(policy -> Grant.of(Objects.requireNonNull(policy, "an authorizer answered null")));
  }

  /** What policies have said lately. */
  public Verdicts verdicts() {
    return verdicts;
  }
}
