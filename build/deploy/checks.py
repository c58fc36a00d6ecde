"""The checks of build/deploy/check, which prepares the tools for them."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DIST = Path(sys.argv[1])
SYSTEMD = HERE / "systemd"
DOCKER = HERE / "docker"
CHART = HERE / "helm" / "dunlin"
PROBE = DOCKER / "dunlin-probe"
LAUNCHER = {"DUNLIN_JVM_OPTS", "DUNLIN_JAVA_HOME", "DUNLIN_BENCH_JVM_OPTS", "DUNLIN_HOME"}
# Small and quick; behind the flags of a file, so these remain checked.
TEST_JVM = " -Xmx256m -XX:TieredStopAtLevel=1"
# Addresses of this machine's own: nothing else listens there, whatever port it has.
NETWORK = "127.77.0."
KUBERNETES = ["1.30", "1.37"]

findings = []
skipped = []


def finding(what):
    findings.append(what)
    print(f"  wrong: {what}")


def skip(what, why):
    skipped.append(f"{what}: {why}")
    print(f"  skipped: {why}")


def expect(true, what):
    if not true:
        finding(what)


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, **options)


def ran(command, what, **options):
    """Runs a command that must succeed; returns what it printed."""
    done = run(command, **options)
    if done.returncode != 0:
        finding(f"{what} ended with {done.returncode}: {done.stdout.strip()}")
    return done.stdout


def clean_environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("DUNLIN_") or key == "DUNLIN_JAVA_HOME"}


# ------------------------------------------------------------------------------------------------------------ settings


def settings_exist():
    rows = re.findall(r"^\| `(dunlin\.[^`]+)` \|.*\| `(DUNLIN_[^`]+)` \|$", (ROOT / "docs/configuration.md").read_text(), re.M)
    keys = [re.compile(re.escape(key).replace("<name>", "[a-z0-9-]+") + "$") for key, _ in rows]
    variables = [re.compile(re.escape(name).replace("<NAME>", "[A-Z0-9]+") + "$") for _, name in rows]
    groups = {".".join(key.split(".")[:count]) for key, _ in rows for count in range(2, key.count(".") + 1)}
    expect(len(rows) > 100, "docs/configuration.md has no table of settings any more")
    named = 0
    for file in sorted(HERE.rglob("*")):
        if not file.is_file() or "target" in file.parts or file.suffix == ".py" or file.name == "check":
            continue
        text = file.read_text()
        for name in re.findall(r"\bDUNLIN_[A-Z0-9_]+", text):
            named += 1
            expect(name in LAUNCHER or any(each.match(name) for each in variables), f"{file.name}: there is no setting {name}")
        for key in re.findall(r"(?<![\w/.])dunlin\.[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*", text):
            if key.split(".")[1] in {"name", "fullname", "selector", "labels", "nodes", "check", "needsTls", "needs", "conf", "service", "sysusers"}:
                continue  # templates of the chart, and files
            named += 1
            expect(key in groups or any(each.match(key) for each in keys), f"{file.name}: there is no setting {key}")
    expect(named > 20, "the files name no settings any more")
    version = re.search(r"<version>([^<]+)</version>", (ROOT / "pom.xml").read_text()).group(1)
    expect(f"\nappVersion: {version}\n" in (CHART / "Chart.yaml").read_text(), f"Chart.yaml has another appVersion than {version}, the version in pom.xml")


# ------------------------------------------------------------------------------------------------------------- systemd


def unit():
    """The lines of the unit by their keys."""
    lines = {}
    for line in (SYSTEMD / "dunlin.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            lines.setdefault(key, []).append(value)
    return lines


def systemd():
    if not shutil.which("systemd-analyze"):
        return skip("systemd", "there is no systemd-analyze")
    with tempfile.TemporaryDirectory() as directory:
        # With a command that exists.
        copy = Path(directory) / "dunlin.service"
        copy.write_text((SYSTEMD / "dunlin.service").read_text().replace("/opt/dunlin", str(DIST)))
        said = ran(["systemd-analyze", "verify", "--man=no", str(copy)], "systemd-analyze verify")
        expect(not said.strip(), f"systemd-analyze verify says: {said.strip()}")
        help_text = run(["systemd-analyze", "--help"]).stdout
        if "--offline" in help_text:
            # 0 is a process that may do nothing, 100 one that may do everything.
            judged = run(["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(copy)])
            expect(judged.returncode == 0, f"systemd-analyze security: {judged.stdout.strip().splitlines()[-1]}")
        else:
            skip("systemd", "this systemd-analyze cannot judge the security of a file")
    if shutil.which("systemd-sysusers"):
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "etc").mkdir()
            ran(["systemd-sysusers", f"--root={directory}", str(SYSTEMD / "dunlin.sysusers")], "systemd-sysusers")
            users = Path(directory) / "etc" / "passwd"
            made = [line.split(":")[0] for line in users.read_text().splitlines()] if users.exists() else []
            expect("dunlin" in made, f"dunlin.sysusers makes the users {made}")


def started_by_the_unit():
    """Runs the command of the unit with its variables, until it is ready; then stops it as systemd would."""
    lines = unit()
    with tempfile.TemporaryDirectory() as directory:
        places = {"/opt/dunlin": str(DIST), "/var/lib/dunlin": f"{directory}/data", "/etc/dunlin": directory}

        def here(text):
            for place, path in places.items():
                text = text.replace(place, path)
            return text

        environment = clean_environment()
        for variable in lines["Environment"]:
            key, value = here(variable).split("=", 1)
            environment[key] = value
        port = free_port()
        Path(environment["DUNLIN_CONFIG"]).write_text(
            f'dunlin {{ listeners.tcp.host = "{NETWORK}9", listeners.tcp.port = 0, admin.port = {port} }}\n')
        environment["DUNLIN_JVM_OPTS"] = TEST_JVM
        command = shlex.split(here(lines["ExecStart"][0]))
        environment["DUNLIN_AUTH__ANONYMOUS"] = "true"
        ran([*command, "check"], "bin/dunlin check with the variables of dunlin.service", env=environment)
        with processes() as start:
            broker = start("dunlin.service", command, environment)
            if broker.ready(PROBE, port):
                expect((Path(directory) / "data/dunlin.node").exists(), "dunlin.service: the data is not in its state directory")
                limit = int(re.fullmatch(r"(\d+)s", lines["TimeoutStopSec"][0]).group(1))
                expect(broker.stop(limit) == int(lines["SuccessExitStatus"][0]), "dunlin.service: a stop does not end with SuccessExitStatus")


# ----------------------------------------------------------------------------------------------------------- processes


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Broker:
    def __init__(self, name, command, environment):
        self.name = name
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(command, env=environment, stdout=self.log, stderr=subprocess.STDOUT)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def ready(self, probe, port):
        """Waits until the probe says yes."""
        until = time.monotonic() + 90
        environment = {**clean_environment(), "DUNLIN_ADMIN__PORT": str(port)}
        while time.monotonic() < until and self.process.poll() is None:
            asked = run([str(probe), "/ready"], env=environment)
            if asked.returncode == 0:
                expect(asked.stdout.endswith("ready\n"), f"{probe.name} printed {asked.stdout!r}")
                expect(run([str(probe), "/health"], env=environment).returncode == 0, f"{self.name}: ready and not healthy")
                return True
            time.sleep(0.3)
        finding(f"{self.name} has not become ready: {self.said()}")
        return False

    def stop(self, seconds):
        self.process.send_signal(signal.SIGTERM)
        try:
            # The shell and the JVM say the same: 143, or that the signal has ended it.
            code = self.process.wait(seconds)
            return 128 - code if code < 0 else code
        except subprocess.TimeoutExpired:
            finding(f"{self.name} did not stop within {seconds} s")
            return None


@contextlib.contextmanager
def processes():
    started = []

    def start(*arguments):
        started.append(Broker(*arguments))
        return started[-1]

    try:
        yield start
    finally:
        for broker in started:
            if broker.process.poll() is None:
                broker.process.kill()
                broker.process.wait()
            broker.log.close()


class Client:
    """As much of MQTT 3.1.1 as it takes to see that a message arrives."""

    def __init__(self, address, name, ca):
        self.socket = socket.create_connection(address, timeout=20)
        if ca:
            self.socket = ssl.create_default_context(cafile=ca).wrap_socket(self.socket, server_hostname="localhost")
        fields = [b"\0\4MQTT\4\xc2\0\x3c"] + [len(text).to_bytes(2, "big") + text for text in (name, b"sensor-17", b"secret")]
        self.send(0x10, b"".join(fields))
        assert self.receive() == (0x20, b"\0\0"), "CONNACK"

    def send(self, kind, body):
        assert len(body) < 128
        self.socket.sendall(bytes([kind, len(body)]) + body)

    def receive(self):
        kind, length = self.exactly(2)
        return kind, self.exactly(length)

    def exactly(self, length):
        data = b""
        while len(data) < length:
            more = self.socket.recv(length - len(data))
            assert more, "the broker has closed the connection"
            data += more
        return data

    def subscribe(self, topic):
        self.send(0x82, b"\0\1" + len(topic).to_bytes(2, "big") + topic + b"\1")
        assert self.receive() == (0x90, b"\0\1\1"), "SUBACK"

    def publish(self, topic, payload):
        self.send(0x32, len(topic).to_bytes(2, "big") + topic + b"\0\1" + payload)
        assert self.receive() == (0x40, b"\0\1"), "PUBACK"


def a_message_crosses(what, addresses, ca=None):
    """From a client of the last broker to one of the first."""
    try:
        subscriber = Client(addresses[0], b"check-1", ca)
        subscriber.subscribe(b"check")
        Client(addresses[-1], b"check-2", ca).publish(b"check", b"hello")
        expect(subscriber.receive()[1].endswith(b"hello"), f"{what}: another message arrived at another broker")
    except (AssertionError, OSError) as failure:
        finding(f"{what}: a client failed: {failure!r}")


# -------------------------------------------------------------------------------------------------------------- docker


def dockerfile():
    if not shutil.which("hadolint"):
        return skip("Dockerfile", "there is no hadolint")
    ran(["hadolint", str(DOCKER / "Dockerfile")], "hadolint")
    # What is copied from the archive is in it.
    for line in re.findall(r"^COPY (.+)$", (DOCKER / "Dockerfile").read_text(), re.M):
        for source in [word for word in line.split() if not word.startswith("--")][:-1]:
            place = HERE / source.removeprefix("deploy/") if source.startswith("deploy/") else DIST / source
            expect(place.exists(), f"Dockerfile: the archive has no {source}")


def image_variables():
    text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ")
    return dict(word.split("=", 1) for line in re.findall(r"^ENV (.+)$", text, re.M) for word in shlex.split(line))


def compose():
    try:
        import yaml
    except ImportError:
        return skip("compose.yaml", "there is no PyYAML")
    file = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    brokers = {name: service for name, service in file["services"].items() if name.startswith("broker-")}
    expect(len(brokers) == 3, "compose.yaml has not three brokers")
    for name, service in file["services"].items():
        for volume in service["volumes"]:
            expect(volume.split(":")[0] in file["volumes"], f"compose.yaml: {name} has the unknown volume {volume}")
        for network in service.get("networks", {}):
            expect(network in file["networks"], f"compose.yaml: {name} is in the unknown network {network}")
    for name, service in brokers.items():
        host = service["environment"]["DUNLIN_CLUSTER__HOST"]
        expect(service["networks"]["cluster"]["aliases"] == [host], f"compose.yaml: {name} is not found as {host}")
        expect(f"{host}:7100" in service["environment"]["DUNLIN_CLUSTER__SEEDS"].split(","), f"compose.yaml: {name} is no seed")
        # Here they bind to loopback addresses, which need neither.
        expect(service["environment"].get("DUNLIN_CLUSTER__PLAINTEXT") == "true", f"compose.yaml: {name} has no TLS and does not say so")
    expect(len({service["volumes"][0] for service in brokers.values()}) == 3, "compose.yaml: brokers share a data volume")
    if shutil.which("docker") and run(["docker", "compose", "version"]).returncode == 0:
        ran(["docker", "compose", "-f", str(DOCKER / "compose.yaml"), "config", "-q"], "docker compose config")
    else:
        skip("compose.yaml", "there is no docker compose that could read it; its brokers are run without")
    if not sys.platform.startswith("linux"):
        return skip("compose.yaml", "its brokers are started on Linux only, where each gets a loopback address of its own")
    started_by_compose(brokers)


def started_by_compose(brokers):
    """Runs three brokers as the containers would, each on an address of its own instead of a container's name."""
    with tempfile.TemporaryDirectory() as directory, processes() as start:
        ran([str(DIST / "bin/dunlin"), "passwd", f"{directory}/passwords", "sensor-17"], "bin/dunlin passwd", input="secret\n", env=clean_environment())
        running = []
        for number, (name, service) in enumerate(brokers.items(), 1):
            environment = clean_environment()
            port = free_port()
            for key, value in {**image_variables(), **service["environment"]}.items():
                value = re.sub(r"broker-(\d)\.cluster", NETWORK + r"\1", str(value)).replace("/etc/dunlin", directory)
                environment[key] = value.replace("0.0.0.0", f"{NETWORK}{number}").replace("/var/lib/dunlin", f"{directory}/{name}")
            environment["DUNLIN_ADMIN__PORT"] = str(port)
            ran([str(DIST / "bin/dunlin"), "check"], f"bin/dunlin check with the variables of {name}", env=environment)
            environment["DUNLIN_JVM_OPTS"] += TEST_JVM
            running.append((start(name, [str(DIST / "bin/dunlin")], environment), port, service))
        if not all([broker.ready(PROBE, port) for broker, port, _ in running]):
            return
        a_message_crosses("compose.yaml", [(f"{NETWORK}{number}", 1883) for number in (1, 2, 3)])
        for broker, _, service in running[:1]:
            limit = int(re.fullmatch(r"(\d+)s", service["stop_grace_period"]).group(1))
            expect(broker.stop(limit) == 143, f"{broker.name} did not end by SIGTERM")


# ---------------------------------------------------------------------------------------------------------------- helm

PLAIN = {"cluster": {"plaintext": True}, "auth": {"anonymous": True}}
FULL = {
    "replicas": 5,
    "cluster": {"tls": {"secretName": "cluster-tls"}},
    "auth": {"passwordsSecret": "users"},
    "listeners": {
        "tlsSecret": "mqtt-tls",
        "tcp": {"enabled": False},
        **{name: {"enabled": True} for name in ("tls", "ws", "wss")},
    },
    "config": "dunlin.mqtt.packet-max = 256KiB\ndunlin.drain.server-reference = \"other.example.com:8883\"",
    "jmx": {"enabled": True},
    "networkPolicy": {"enabled": True},
    "antiAffinity": "preferred",
    "service": {"type": "LoadBalancer", "annotations": {"example.com/a": "b"}, "externalTrafficPolicy": "Local", "loadBalancerSourceRanges": ["10.0.0.0/8"]},
    "persistence": {"storageClass": "fast", "annotations": {"example.com/a": "b"}},
    "imagePullSecrets": [{"name": "pull"}],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "mqtt", "operator": "Exists"}],
    "priorityClassName": "high",
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"team": "a"},
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "extraContainers": [{"name": "proxy", "image": "proxy:1"}],
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
}
REFUSED = {
    "The brokers need TLS": {"auth": {"anonymous": True}},
    "Who may connect": {"cluster": {"plaintext": True}},
    "Set only one": {"cluster": {"plaintext": True, "tls": {"secretName": "a"}}},
    "listeners.tlsSecret": {**PLAIN, "listeners": {"tls": {"enabled": True}}},
    "No listener": {**PLAIN, "listeners": {"tcp": {"enabled": False}}},
    "replicas must not be less": {**PLAIN, "replicas": 1},
    "antiAffinity is": {**PLAIN, "antiAffinity": "some"},
}


def helm_of_machine(values, yaml):
    """Renders by a helm on PATH; returns the text, or a failure's."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        done = run(["helm", "template", "mqtt", str(CHART), "--namespace", "things", "-f", file.name])
        return done.returncode == 0, done.stdout


def helm_of_package(values, _):
    import helm_python

    with helm_python.Chart.load(CHART) as chart:
        try:
            rendered = chart.render(values=values, name="mqtt", namespace="things")
        except Exception as failure:  # the package has a hierarchy of its own
            return False, str(failure)
        return True, "\n---\n".join(text for name, text in rendered.items() if name.endswith(".yaml"))


def helm():
    try:
        import yaml
    except ImportError:
        return skip("chart", "there is no PyYAML")
    if shutil.which("helm"):
        template = helm_of_machine
        ran(["helm", "lint", "--strict", "--set", "cluster.plaintext=true,auth.anonymous=true", str(CHART)], "helm lint")
    else:
        try:
            import helm_python
        except (ImportError, OSError):
            return skip("chart", "there is no helm")
        template = helm_of_package
        for said in helm_python.lint(str(CHART), values=PLAIN)["messages"]:
            expect(said["severity"] < 2, f"helm lint: {said}")  # 1 is a hint, 2 a warning
    for sentence, values in REFUSED.items():
        good, text = template(values, yaml)
        expect(not good and sentence in text, f"chart: not refused with {sentence!r}, but: {text[:200]}")
    for name, values in (("plain", PLAIN), ("full", FULL)):
        good, text = template(values, yaml)
        if not good:
            finding(f"chart, {name}: {text}")
            continue
        documents = [document for document in yaml.safe_load_all(text) if document]
        types_are_right(name, documents)
        parts_fit(name, documents)
        settings_of_the_chart(name, documents)


def types_are_right(name, documents):
    try:
        import kubernetes_validate
    except ImportError:
        return skip("chart", "there is no kubernetes-validate, so types of Kubernetes were not checked")
    for version in KUBERNETES:
        for document in documents:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as wrong:
                finding(f"chart, {name}: {document['kind']} of Kubernetes {version}: {'.'.join(map(str, wrong.path))}: {wrong.message}")


def of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def parts_fit(name, documents):
    """What one part of the chart calls another one exists."""
    kinds = ["ConfigMap", "PodDisruptionBudget", "Service", "Service", "StatefulSet"] + (["NetworkPolicy"] if name == "full" else [])
    expect(sorted(each["kind"] for each in documents) == sorted(kinds), f"chart, {name}: other parts than {kinds}")
    brokers = of_kind(documents, "StatefulSet")[0]["spec"]
    pod = brokers["template"]["spec"]
    labels = brokers["template"]["metadata"]["labels"]
    container = pod["containers"][0]
    volumes = {each["name"] for each in pod["volumes"]} | {each["metadata"]["name"] for each in brokers["volumeClaimTemplates"]}
    mounts = {each["name"] for each in container["volumeMounts"]}
    expect(volumes == mounts, f"chart, {name}: volumes {volumes} and mounts {mounts}")
    ports = {each["name"] for each in container["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        expect(container[probe]["httpGet"]["port"] in ports, f"chart, {name}: {probe} asks an unknown port")
    selectors = [service["spec"]["selector"] for service in of_kind(documents, "Service")]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in of_kind(documents, "PodDisruptionBudget")]
    selectors += [each["spec"]["podSelector"]["matchLabels"] for each in of_kind(documents, "NetworkPolicy")] + [brokers["selector"]["matchLabels"]]
    for selector in selectors:
        expect(selector and selector.items() <= labels.items(), f"chart, {name}: {selector} does not select the brokers")
    for service in of_kind(documents, "Service"):
        for port in service["spec"]["ports"]:
            expect(port["targetPort"] in ports, f"chart, {name}: {service['metadata']['name']} has an unknown port {port['targetPort']}")
    for policy in of_kind(documents, "NetworkPolicy"):
        for port in [port for rule in policy["spec"]["ingress"] for port in rule["ports"]]:
            expect(port["port"] in ports, f"chart, {name}: the network policy has an unknown port {port['port']}")
    nodes = [service for service in of_kind(documents, "Service") if service["metadata"]["name"] == brokers["serviceName"]]
    expect(len(nodes) == 1 and nodes[0]["spec"]["clusterIP"] == "None" and nodes[0]["spec"]["publishNotReadyAddresses"], f"chart, {name}: pods have no names")
    stop = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    expect(pod["terminationGracePeriodSeconds"] >= stop + 90, f"chart, {name}: a broker may be killed while it stops")


def settings_of_the_chart(name, documents):
    """Every broker would start with its configuration: bin/dunlin check. With everything switched on, three of them also run."""
    brokers = of_kind(documents, "StatefulSet")[0]
    with tempfile.TemporaryDirectory() as directory:
        pods = [Pod(documents, number, Path(directory)) for number in range(3)]
        for pod in pods:
            expect(pod.host == f"{pod.name}.{brokers['spec']['serviceName']}.things.svc.cluster.local", f"chart, {name}: {pod.name} is not found as {pod.host}")
            expect(f'"{pod.host}:7100"' in pod.conf, f"chart, {name}: {pod.host} is not among the seeds")
        if not certificates(Path(directory), ["localhost", "*." + pods[0].host.split(".", 1)[1]]):
            return skip("chart", "there is no openssl, so settings with TLS were not checked")
        (Path(directory) / "users").mkdir()
        ran([str(DIST / "bin/dunlin"), "passwd", f"{directory}/users/passwords", "sensor-17"], "bin/dunlin passwd", input="secret\n", env=clean_environment())
        ran([str(DIST / "bin/dunlin"), "check"], f"chart, {name}: bin/dunlin check", env=pods[0].environment)
        if name == "full" and sys.platform.startswith("linux"):
            started_by_the_chart(brokers, pods, directory)


class Pod:
    """A broker of the chart, on an address of its own and with its files below a directory."""

    def __init__(self, documents, number, directory):
        brokers = of_kind(documents, "StatefulSet")[0]
        self.name = f"{brokers['metadata']['name']}-{number}"
        self.address = f"{NETWORK}{10 + number}"
        self.conf = of_kind(documents, "ConfigMap")[0]["data"]["dunlin.conf"]
        self.environment = {**clean_environment(), **image_variables()}
        for variable in brokers["spec"]["template"]["spec"]["containers"][0]["env"]:
            self.environment[variable["name"]] = variable.get("value", self.name).replace("$(POD_NAME)", self.name)
        self.host = self.environment["DUNLIN_CLUSTER__HOST"]
        places = {
            "/etc/dunlin/conf": f"{directory}/{self.name}",
            "/etc/dunlin": str(directory),
            "/var/lib/dunlin": f"{directory}/{self.name}",
            "0.0.0.0": self.address,
            "jmxremote.port=9010": f"jmxremote.port={(jmx := free_port())}",
            "rmi.port=9010": f"rmi.port={jmx}",
        }

        def here(text):
            for place, path in places.items():
                text = text.replace(place, path)
            return text

        (directory / self.name).mkdir()
        (directory / self.name / "dunlin.conf").write_text(here(self.conf))
        self.environment = {key: here(value) if key.startswith("DUNLIN_") else value for key, value in self.environment.items()}
        self.environment["DUNLIN_ADMIN__PORT"] = "0"


def started_by_the_chart(brokers, pods, directory):
    """Three brokers with TLS, which find each other by the names of the pods; a file stands for the DNS."""
    names = Path(directory) / "hosts"
    names.write_text("".join(f"{pod.address} {pod.host}\n" for pod in pods) + f"127.0.0.1 localhost {socket.gethostname()}\n")
    probe = brokers["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"]
    with processes() as start:
        running = []
        for pod in pods:
            pod.environment["DUNLIN_JVM_OPTS"] += f"{TEST_JVM} -Djdk.net.hosts.file={names}"
            running.append(start(pod.name, [str(DIST / "bin/dunlin")], pod.environment))
        if not all([answers(broker, f"http://{pod.address}:8081{probe}") for broker, pod in zip(running, pods)]):
            return
        a_message_crosses("chart", [(pod.address, 8883) for pod in pods], f"{directory}/listeners/ca.crt")


def answers(broker, url):
    """Waits until a probe of the kubelet says yes."""
    until = time.monotonic() + 90
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until and broker.process.poll() is None:
        with contextlib.suppress(OSError):
            with direct.open(url, timeout=5) as answer:
                if answer.status == 200:
                    return True
        time.sleep(0.3)
    finding(f"{broker.name} has not become ready: {broker.said()}")
    return False


def certificates(directory, names):
    """Makes tls.crt, tls.key and ca.crt for these names, in the folders that the chart mounts; false without openssl."""
    if not shutil.which("openssl"):
        return False
    alternatives = ",".join("DNS:" + each for each in names)
    for folder in ("cluster", "listeners"):
        place = directory / folder
        place.mkdir()
        ran(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=check",
             "-addext", f"subjectAltName={alternatives}", "-keyout", str(place / "tls.key"), "-out", str(place / "tls.crt")], "openssl")
        shutil.copy(place / "tls.crt", place / "ca.crt")
    return True


def main():
    begun = time.monotonic()
    checks = [
        ("settings", settings_exist),
        ("systemd", systemd),
        ("started by dunlin.service", started_by_the_unit),
        ("Dockerfile", dockerfile),
        ("compose.yaml", compose),
        ("chart", helm),
    ]
    for name, check in checks:
        print(f"deploy: {name}", flush=True)
        try:
            check()
        except Exception as failure:  # a broken check is a finding, and the others go on
            finding(f"{name}: {failure!r}")
    print(f"deploy: {len(findings)} wrong, {len(skipped)} skipped, {time.monotonic() - begun:.0f} s")
    for each in skipped:
        print(f"  skipped: {each}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
