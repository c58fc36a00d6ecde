/** MQTT 3.1.1 and 5.0 from the client's side: packets to and from Netty's buffers, without an object for each. */
@NullMarked
package dunlin.load.mqtt;

import org.jspecify.annotations.NullMarked;
