package dunlin.broker.auth;

import dunlin.broker.access.AclFile;
import dunlin.broker.access.Grant;
import dunlin.broker.access.RuleSet;
import dunlin.broker.access.Subject;
import dunlin.broker.access.Verdicts;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Where the policies of clients come from: the file of rules, or an {@link Authorizer} of the application. A frontend
 * without either has none of this, and its clients may do everything within their tenant.
 */
public final class Authorization {
  /*
   * Owner: one thread calls refresh(); any thread calls the rest.
   * Bounds: those of AclFile and of Verdicts.
   * Failure: see FollowedFile. There is always a set of rules: if the file becomes invalid or disappears, the last one
   * stays. An Authorizer that fails is a client that is refused; see Admission.
   */
  private static final String KEY = "dunlin.auth.acl-file";
  private static final String RELOADS = "dunlin.auth.acl-file.reloads";

  private final Verdicts verdicts = new Verdicts();
  private final @Nullable Authorizer authorizer;
  private final @Nullable FollowedFile file;

  /** Replaced as a whole by refresh(); null only without a file. */
  private volatile @Nullable RuleSet rules;

  private volatile Runnable changed = () -> {};

  private Authorization(String file, @Nullable Authorizer authorizer, MeterRegistry meters) {
    this.authorizer = authorizer;
    this.file = file.isEmpty() ? null : FollowedFile.open(KEY, file, "rules", this::load, RELOADS, meters);
    Gauge.builder("dunlin.auth.verdicts", verdicts, Verdicts::size)
        .description("Decisions about topics and topic filters that are remembered")
        .register(meters);
    if (this.file == null) return;
    Gauge.builder("dunlin.auth.acl-file.rules", this, each -> each.rules().size())
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
   * @return null if there is neither
   * @throws SettingException if the file cannot be read or is invalid, or if there are several sources
   */
  static @Nullable Authorization open(String file, List<Authorizer> authorizers, MeterRegistry meters) {
    if (authorizers.size() + (file.isEmpty() ? 0 : 1) > 1) {
      throw new SettingException(
          "dunlin.auth: only one source of access rules is allowed, but several of dunlin.auth.acl-file, dunlin.auth.provider and the embedding"
              + " application have one");
    }
    if (file.isEmpty() && authorizers.isEmpty()) return null;
    return new Authorization(file, authorizers.isEmpty() ? null : authorizers.getFirst(), meters);
  }

  private int load(Path path) throws IOException {
    RuleSet read = read(path);
    rules = read;
    return read.size();
  }

  private static RuleSet read(Path path) throws IOException {
    try {
      return AclFile.read(path);
    } catch (AclFile.MalformedException e) {
      throw new FollowedFile.MalformedException(String.valueOf(e.getMessage()));
    }
  }

  private RuleSet rules() {
    return Objects.requireNonNull(rules, "no file");
  }

  /** Sets what is run after the rules have changed, on the thread that calls {@link #refresh}. */
  public void onChange(Runnable task) {
    changed = task;
  }

  /** Reads a changed file again. Must be called some times a second; throws nothing. */
  void refresh() {
    if (file != null && file.refresh()) changed.run();
  }

  /** The client that rules are applied to. */
  public static Subject subject(Identity identity, String clientId, Peer peer) {
    return new Subject(identity.tenant(), clientId, identity.user(), CertificateSubject.attributesOf(peer), true);
  }

  /** The client that left a will, when its connection has ended. */
  public static Subject absent(String tenant, String clientId, String user) {
    return new Subject(tenant, clientId, user, Map.of(), false);
  }

  /** The policy of a client, if it is known without asking an authorizer. */
  public Optional<Grant> known(Subject client) {
    return file == null ? Optional.empty() : Optional.of(Grant.following(this::rules, client));
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
