/** The program that tries the rows of the table, and what befalls brokers in them. */
@NullMarked
package dunlin.chaos.mqtt.rows;

import org.jspecify.annotations.NullMarked;
