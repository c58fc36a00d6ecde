@NullMarked
package dunlin.chaos.mqtt.rows;

import org.jspecify.annotations.NullMarked;
