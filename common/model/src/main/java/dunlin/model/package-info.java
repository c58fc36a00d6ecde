/** MQTT's types: topic names and filters, messages, reason codes. Pure values, no I/O. */
@NullMarked
package dunlin.model;

import org.jspecify.annotations.NullMarked;
