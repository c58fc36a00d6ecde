/**
 * The meta group: which nodes there are, which ranges, who has their replicas, and how that changes. Pure: no Ratis, no
 * sockets, no clock, no random numbers; what comes from outside is a parameter.
 */
@NullMarked
package dunlin.placement;

import org.jspecify.annotations.NullMarked;
