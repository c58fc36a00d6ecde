/** MQTT clients against a broker, or a cluster of brokers, and faults. {@link dunlin.chaos.mqtt.check} checks what the clients saw. */
@NullMarked
package dunlin.chaos.mqtt;

import org.jspecify.annotations.NullMarked;
