/** The history of MQTT clients, packet by packet, and its check against each promise of docs/DELIVERY.md. */
@NullMarked
package dunlin.chaos.mqtt.check;

import org.jspecify.annotations.NullMarked;
