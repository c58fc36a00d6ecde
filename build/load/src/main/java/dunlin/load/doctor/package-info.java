/** Finds limits of this machine that are too small for a number of connections, and the commands that raise them. */
@NullMarked
package dunlin.load.doctor;

import org.jspecify.annotations.NullMarked;
