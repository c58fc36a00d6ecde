"""The units of systemd: checked by its tools, and run as it would."""

import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from checking import DIST, HERE, NETWORK, PROBE, TEST_JVM, a_message_crosses, accepted, certificate, clean_environment, expect, free_port, hosts_file, \
    passwords, processes, ran, run, skip

SYSTEMD = HERE / "systemd"
ALONE = "dunlin.service"
TEMPLATE = "dunlin@.service"
# A host of the examples of the template's settings, and the address that it has here.
HOST = "a.example"
ADDRESS = f"{NETWORK}31"


def unit(file, instance=""):
    """The lines of a unit by their keys."""
    lines = {}
    for line in (SYSTEMD / file).read_text().replace("%i", instance).splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            lines.setdefault(key, []).append(value)
    return lines


def instances():
    """What the template has example settings for."""
    return sorted((file.stem for file in SYSTEMD.glob("*.conf")), reverse=True)  # the store in front: the frontend waits for it


def systemd():
    # The two units are the same, but for the names.
    alone, template = unit(ALONE), unit(TEMPLATE)
    for key in alone.keys() | template.keys():
        told = [value.replace("/etc/dunlin/dunlin.conf", "/etc/dunlin/.conf") for value in alone.get(key, [])]
        expect(key == "Description" or [value.replace("dunlin-", "dunlin") for value in template.get(key, [])] == told, f"{TEMPLATE}: {key} is not that of {ALONE}")
    if not shutil.which("systemd-analyze"):
        return skip("systemd", "there is no systemd-analyze")
    offline = "--offline" in run(["systemd-analyze", "--help"]).stdout
    if not offline:
        skip("systemd", "this systemd-analyze cannot judge the security of a file")
    with tempfile.TemporaryDirectory() as directory:
        for file, name in [(ALONE, ALONE)] + [(TEMPLATE, TEMPLATE.replace("@", "@" + each)) for each in instances()]:
            # With a command that exists.
            copy = Path(directory) / name
            copy.write_text((SYSTEMD / file).read_text().replace("/opt/dunlin", str(DIST)))
            said = ran(["systemd-analyze", "verify", "--man=no", str(copy)], "systemd-analyze verify")
            expect(not said.strip(), f"systemd-analyze verify says: {said.strip()}")
            if offline:
                # 0 is a process that may do nothing, 100 one that may do everything.
                judged = run(["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(copy)])
                expect(judged.returncode == 0, f"systemd-analyze security: {judged.stdout.strip().splitlines()[-1]}")
    if shutil.which("systemd-sysusers"):
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "etc").mkdir()
            ran(["systemd-sysusers", f"--root={directory}", str(SYSTEMD / "dunlin.sysusers")], "systemd-sysusers")
            users, groups = ({line.split(":")[0]: line.split(":") for line in read(Path(directory) / "etc" / name)} for name in ("passwd", "group"))
            expect("dunlin" in users, f"dunlin.sysusers makes the users {list(users)}")
            for each in instances():
                user = unit(TEMPLATE, each)["User"][0]
                expect(user in users and user in groups, f"dunlin.sysusers makes no user and group {user}")
                expect(user in groups["dunlin"][3].split(","), f"dunlin.sysusers: {user} cannot read what all processes share")


def read(file):
    return file.read_text().splitlines() if file.exists() else []


class Unit:
    """An instance of a unit, with its variables, and its files below a directory."""

    def __init__(self, file, instance, directory):
        self.name = file.replace("@", "@" + instance)
        self.lines = unit(file, instance)
        self.places = {"/opt/dunlin": str(DIST), "/var/lib/dunlin": f"{directory}/data", "/etc/dunlin": str(directory)}
        self.port = free_port()
        self.environment = clean_environment()
        for variable in self.lines["Environment"]:
            key, value = self.here(variable).split("=", 1)
            self.environment[key] = value
        self.environment["DUNLIN_JVM_OPTS"] = TEST_JVM
        self.environment["DUNLIN_ADMIN__PORT"] = str(self.port)
        self.command = shlex.split(self.here(self.lines["ExecStart"][0]))

    def here(self, text):
        for place, path in self.places.items():
            text = text.replace(place, path)
        return text

    def configure(self, text):
        Path(self.environment["DUNLIN_CONFIG"]).write_text(text)

    def start(self, start):
        return start(self.name, self.command, self.environment)

    def stop(self, broker):
        """As systemd would."""
        limit = int(re.fullmatch(r"(\d+)s", self.lines["TimeoutStopSec"][0]).group(1))
        expect(broker.stop(limit) == int(self.lines["SuccessExitStatus"][0]), f"{self.name}: a stop does not end with SuccessExitStatus")


def started_by_the_unit():
    """Runs the command of the unit of a lone broker with its variables, until it is ready; then stops it."""
    with tempfile.TemporaryDirectory() as directory, processes() as start:
        alone = Unit(ALONE, "", directory)
        alone.configure(f'dunlin {{ listeners.tcp.host = "{NETWORK}9", listeners.tcp.port = 0 }}\n')
        alone.environment["DUNLIN_AUTH__ANONYMOUS"] = "true"
        accepted(ALONE, alone.environment)
        broker = alone.start(start)
        if broker.ready(PROBE, alone.port):
            expect((Path(directory) / "data/dunlin.node").exists(), f"{ALONE}: the data is not in its state directory")
            alone.stop(broker)


def started_by_the_template():
    """Runs what the example settings make of one host: a store and a frontend, side by side. Here this store founds the cluster alone."""
    if not sys.platform.startswith("linux"):
        return skip(TEMPLATE, "its instances are started on Linux only, where the host gets a loopback address of its own")
    with tempfile.TemporaryDirectory() as name, processes() as start:
        directory = Path(name)
        if not certificate(directory / "node.key", [directory / "node.pem", directory / "ca.pem"], [HOST]):
            return skip(TEMPLATE, "there is no openssl, so its instances, which need TLS, were not run")
        certificate(directory / "server.key", [directory / "server.pem"], ["localhost"])
        passwords(directory / "passwords")
        names = hosts_file(directory / "hosts", {host: ADDRESS for host in (HOST, "b.example", "c.example")})
        running = []
        for instance in instances():
            each = Unit(TEMPLATE, instance, directory)
            each.configure(each.here((SYSTEMD / f"{instance}.conf").read_text()).replace("0.0.0.0", ADDRESS))
            each.environment["DUNLIN_JVM_OPTS"] += names
            accepted(each.name, each.environment)
            # Stronger than the file.
            each.environment |= {"DUNLIN_CLUSTER__SEEDS": f"{HOST}:7100", "DUNLIN_CLUSTER__BOOTSTRAP_EXPECT": "1"}
            running.append((each, each.start(start)))
        if all([broker.ready(PROBE, each.port) for each, broker in running]):
            for each, _ in running:
                expect(Path(each.environment["DUNLIN_DATA_DIR"], "dunlin.node").exists(), f"{each.name}: the data is not in its state directory")
            a_message_crosses(TEMPLATE, [(ADDRESS, 8883)], str(directory / "server.pem"))
            for each, broker in reversed(running):
                each.stop(broker)
