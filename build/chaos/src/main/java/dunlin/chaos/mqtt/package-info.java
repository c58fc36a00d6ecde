/** MQTT clients against one broker process, faults, and the check of the clients' history against docs/DELIVERY.md. */
@NullMarked
package dunlin.chaos.mqtt;

import org.jspecify.annotations.NullMarked;
