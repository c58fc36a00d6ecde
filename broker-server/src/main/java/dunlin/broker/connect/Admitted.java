package dunlin.broker.connect;

import dunlin.broker.auth.Claims;
import dunlin.broker.auth.Identity;
import dunlin.broker.session.SessionAccess;
import org.jspecify.annotations.Nullable;

/**
 * A client that may connect.
 *
 * @param clientId its client identifier, also if the server has chosen it
 * @param authenticationData the Authentication Data of the last step of an enhanced authentication, or null
 * @param claims what its credentials say beside who it is
 * @param access what it may do; null if everything
 */
record Admitted(Identity identity, String clientId, byte @Nullable [] authenticationData, Claims claims, @Nullable SessionAccess access) {
  Admitted with(SessionAccess found) {
    return new Admitted(identity, clientId, authenticationData, claims, found);
  }
}
