/** Rows that measure for how long clients wait: while a leadership changes, a process is replaced, or very many clients ask at once. */
@NullMarked
package dunlin.chaos.mqtt.waits;

import org.jspecify.annotations.NullMarked;
