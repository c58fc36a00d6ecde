package consumer;

import dunlin.Dunlin;
import dunlin.Message;
import java.nio.charset.StandardCharsets;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** A web application with a broker of its own: what is posted to it goes to devices. */
@SpringBootApplication
public class Application {
  public static void main(String[] arguments) {
    SpringApplication.run(Application.class, arguments);
  }

  /** Spring closes it with the application. */
  @Bean
  Dunlin broker() {
    return Dunlin.builder().inMemory().tcpPort(0).build();
  }

  @RestController
  static class Commands {
    private final Dunlin broker;

    Commands(Dunlin broker) {
      this.broker = broker;
    }

    /** Answers whether the device listens. */
    @PostMapping("/devices/{device}")
    Mono<Boolean> command(@PathVariable String device, @RequestBody String command) {
      var message = Message.of("devices/" + device, command.getBytes(StandardCharsets.UTF_8), 1);
      return Mono.fromFuture(broker.publish(message));
    }
  }
}
