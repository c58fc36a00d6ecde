/**
 * Asks a service over HTTP whether a client may connect, and what it may do. What the broker makes of an answer is decided in {@code dunlin.broker.auth}.
 *
 * <p>The service's URL is a setting and never has anything of a client in it: what clients say is in the body of requests alone. Redirects are not followed.
 */
@NullMarked
package dunlin.broker.http;

import org.jspecify.annotations.NullMarked;
