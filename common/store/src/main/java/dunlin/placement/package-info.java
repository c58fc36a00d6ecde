/**
 * The meta group: the nodes, the ranges, where their replicas are, and how that changes. Pure: no Ratis, no sockets, no
 * clock, no random numbers; all input comes as parameters.
 */
@NullMarked
package dunlin.placement;

import org.jspecify.annotations.NullMarked;
