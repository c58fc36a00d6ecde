package dunlin.broker.jwt;

import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** All keys that tokens may be signed with now, of all sources. */
public final class KeyRing {
  /*
   * Owner: the keys of each source are replaced as a whole by one thread; any thread looks for keys.
   * Bounds: TokenKeys.KEYS_MAX keys of each source. A token is checked against CANDIDATES_MAX keys at most: what a token costs must not
   * depend on how many keys there are.
   */
  static final int CANDIDATES_MAX = 8;

  private final @Nullable RemoteKeys remote;
  private volatile TokenKeys secret = TokenKeys.NONE;
  private volatile TokenKeys file = TokenKeys.NONE;

  /** @param remote the keys of a URL, or null */
  public KeyRing(@Nullable RemoteKeys remote) {
    this.remote = remote;
  }

  /**
   * Replaces the secret.
   *
   * @return the number of keys
   */
  public int secret(TokenKeys read) {
    secret = read;
    return read.size();
  }

  /**
   * Replaces the keys of the file.
   *
   * @return the number of keys
   */
  public int file(TokenKeys read) {
    file = read;
    return read.size();
  }

  /** The number of keys. */
  public int size() {
    return secret.size() + file.size() + (remote == null ? 0 : remote.keys().size());
  }

  /**
   * The keys that may have signed a token: those with the name that it gives, else those without a name, which PEM has none for. A token
   * without a name may have been signed by any key that its algorithm fits.
   *
   * @param id the {@code kid} of the token; null if it has none
   */
  List<TokenKey> candidates(TokenAlgorithm algorithm, @Nullable String id) {
    List<TokenKey> fitting =
        Stream.of(secret, file, remote == null ? TokenKeys.NONE : remote.keys())
            .flatMap(keys -> keys.all().stream())
            .filter(key -> key.fits(algorithm))
            .toList();
    if (id == null) return fitting;
    List<TokenKey> named = fitting.stream().filter(key -> key.id().equals(id)).toList();
    return named.isEmpty() ? fitting.stream().filter(key -> key.id().isEmpty()).toList() : named;
  }

  /** Whether a key that is not known may come soon, because the keys of the URL are fetched anew. */
  boolean mayGetMore() {
    return remote != null && remote.want();
  }
}
