/** The last retained message of each topic; MQTT 5, section 3.3.1.3. */
@NullMarked
package dunlin.retain;

import org.jspecify.annotations.NullMarked;
