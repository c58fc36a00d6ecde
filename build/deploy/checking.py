"""What the checks of the single files need: findings, processes, a client, certificates."""

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DIST = Path(sys.argv[1])
DUNLIN = str(DIST / "bin/dunlin")
DOCKER = HERE / "docker"
PROBE = DOCKER / "dunlin-probe"
# Small and quick; behind the flags of a file, so these remain checked.
TEST_JVM = " -Xmx256m -XX:TieredStopAtLevel=1"
# Addresses of this machine's own: nothing else listens there, whatever port it has.
NETWORK = "127.77.0."
READY_SECONDS = 180  # on a machine with nothing else to do it takes a few

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


def passwords(file):
    """Makes a password file with the user of the client below."""
    ran([DUNLIN, "passwd", str(file), "sensor-17"], "bin/dunlin passwd", input="secret\n", env=clean_environment())


def accepted(what, environment):
    """Whether bin/dunlin check has no objection."""
    ran([DUNLIN, "check"], f"{what}: bin/dunlin check", env=environment)


def certificate(key, certificates, names):
    """Makes a key, and a certificate for these names that is its own authority; false without openssl."""
    if not shutil.which("openssl"):
        return False
    alternatives = ",".join("DNS:" + each for each in names)
    ran(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=check",
         "-addext", f"subjectAltName={alternatives}", "-keyout", str(key), "-out", str(certificates[0])], "openssl")
    for copy in certificates[1:]:
        shutil.copy(certificates[0], copy)
    return True


def hosts_file(file, addresses):
    """A file that stands for the DNS in a JVM; returns the flag that makes it do so."""
    file.write_text("".join(f"{address} {host}\n" for host, address in addresses.items()) + f"127.0.0.1 localhost {socket.gethostname()}\n")
    return f" -Djdk.net.hosts.file={file}"


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
        until = time.monotonic() + READY_SECONDS
        environment = {**clean_environment(), "DUNLIN_ADMIN__PORT": str(port)}
        while time.monotonic() < until and self.process.poll() is None:
            asked = run([str(probe), "/ready"], env=environment)
            if asked.returncode == 0:
                # Below it, a node names the roles that the others of its cluster have yet to bring.
                answer = [line for line in asked.stdout.splitlines() if not line.startswith("no node of the cluster has the role ")]
                expect(answer[-1:] == ["ready"], f"{probe.name} printed {asked.stdout!r}")
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
