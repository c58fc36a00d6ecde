/** Bounds that are about no packet: how much, how many, how often, and who is next. */
@NullMarked
package dunlin.broker.limit;

import org.jspecify.annotations.NullMarked;
