"""What the figures depend on."""
import os
import platform
import re
import subprocess
import zlib

from harness.server import BENCH, CLONE, Failure, call, log


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def said(*command):
    """What a command says, or nothing if it can't."""
    try:
        return call(*command).strip()
    except (Failure, OSError):
        return ""


def describe():
    """The machine, as far as it can be told."""
    model = re.search(r"^model name\s*: (.*)$", read("/proc/cpuinfo"), re.M)
    memory = re.search(r"^MemTotal:\s+(\d+) kB", read("/proc/meminfo"), re.M)
    system = re.search(r'^PRETTY_NAME="(.*)"$', read("/etc/os-release"), re.M)
    return {
        "processor": model.group(1) if model else platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": int(memory.group(1)) // 1024 if memory else None,
        "kernel": platform.release(),
        "system": system.group(1) if system else platform.system(),
        "virtual": said("systemd-detect-virt") or "unknown",
    }


def commit():
    """The commit that is measured, with "+" and a checksum of what has been changed since, if anything has."""
    name = said("git", "-C", CLONE, "rev-parse", "--short=10", "HEAD")
    changes = said("git", "-C", CLONE, "diff", "HEAD", "--", "src", "fpbtree--1.0.sql", "Makefile", "bench")
    return f"{name}+{zlib.crc32(changes.encode()):08x}" if changes else name


def server(running):
    """The server's version and the settings that are not its defaults."""
    lines = running.ask("SELECT name || '=' || current_setting(name) FROM pg_settings"
                        " WHERE source NOT IN ('default', 'override', 'client')"
                        " AND name !~ '^(lc_|listen|unix_socket|port|log_|TimeZone|DateStyle|default_text|client|config|dynamic_shared)'"
                        " ORDER BY name")
    return {
        "version": call(running.pg_config, "--version").strip(),
        "assertions": running.configured_with("--enable-cassert"),
        "settings": dict(line.split("=", 1) for line in lines.splitlines()),
    }


class Device:
    """The storage: pages a second read at random by a plain program, one and so many at a time, past all caches."""

    DEPTHS = (1, 16, 32)

    def __init__(self, folder):
        self.program = os.path.join(folder, "device")
        try:
            call("cc", "-O2", "-o", self.program, os.path.join(BENCH, "harness", "device.c"), "-luring")
        except (Failure, OSError):
            log("no liburing, so the device is not measured")
            self.program = None

    def measure(self, file):
        """Reads a second by depth, of pages of a file that is some hundred megabytes large; {} if that can't be had."""
        if self.program is None:
            return {}
        rates = {}
        for depth in self.DEPTHS:
            done = subprocess.run([self.program, file, str(depth), str(2000 * min(depth, 10))], capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                log(f"the device can't be measured: {done.stderr.strip()}")
                return {}
            rates[str(depth)] = int(done.stdout)
        return rates
