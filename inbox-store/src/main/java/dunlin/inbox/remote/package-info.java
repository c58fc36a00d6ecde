/** The wire between frontends and the session tier: calls one way, pushes and answers the other, over a {@link dunlin.transport.link.Link}. */
@NullMarked
package dunlin.inbox.remote;

import org.jspecify.annotations.NullMarked;
