/** What on this machine is too small for a number of connections, and the command that mends it. */
@NullMarked
package dunlin.load.doctor;

import org.jspecify.annotations.NullMarked;
