/**
 * Composes a frontend, the tier that clients connect to, with its statistics; and connects the application that embeds
 * a node, which publishes and subscribes without a connection.
 *
 * <p>It uses all packages below it, and none of them uses it.
 */
@NullMarked
package dunlin.broker;

import org.jspecify.annotations.NullMarked;
