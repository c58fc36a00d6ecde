/**
 * JSON Web Tokens: the keys that they are signed with, and what has to be in them; RFC 7515, 7517, 7518, 7519 and 8725. Says
 * whether a token is accepted and what it means. Who shows tokens, and what a client gets for one, is decided in
 * {@code dunlin.broker.auth}.
 *
 * <p>A token chooses nothing: neither where keys come from ({@code jku}, {@code x5u}, {@code jwk} and {@code x5c} in its header are not
 * looked at), nor an algorithm that the settings do not name, nor a key that is not made for that algorithm. It is looked at only within
 * bounds of size, and its claims only once the signature is right.
 */
@NullMarked
package dunlin.broker.jwt;

import org.jspecify.annotations.NullMarked;
