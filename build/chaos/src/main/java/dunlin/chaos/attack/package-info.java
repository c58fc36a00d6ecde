/** Attacks of ordinary clients on a broker with a small heap, and their effect on a neighbour. */
@NullMarked
package dunlin.chaos.attack;

import org.jspecify.annotations.NullMarked;
