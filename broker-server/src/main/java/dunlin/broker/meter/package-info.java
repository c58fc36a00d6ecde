/** What a frontend counts: packets, messages by their hops, violations, the rates of these. */
@NullMarked
package dunlin.broker.meter;

import org.jspecify.annotations.NullMarked;
