/**
 * What composes a frontend, the tier that clients connect to, and what it says of itself; and what the application that a node is part of
 * publishes and subscribes to without a connection.
 *
 * <p>It knows all packages below it, and none of them knows it.
 */
@NullMarked
package dunlin.broker;

import org.jspecify.annotations.NullMarked;
