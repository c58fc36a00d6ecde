/** The wire between frontends and the retain tier: calls one way, answers the other, over a {@link dunlin.transport.link.Link}. */
@NullMarked
package dunlin.retain.remote;

import org.jspecify.annotations.NullMarked;
