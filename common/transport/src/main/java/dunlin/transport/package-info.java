/** Lanes: ordered, acknowledged, credit-controlled streams of messages between the tiers. */
@NullMarked
package dunlin.transport;

import org.jspecify.annotations.NullMarked;
