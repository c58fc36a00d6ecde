@NullMarked
package dunlin.load.doctor;

import org.jspecify.annotations.NullMarked;
