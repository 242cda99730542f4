"""nginx as ``deploy/nginx.conf`` sets it up, on this machine's ports, and clients that reach it."""

import re
import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
from stand_ins.serving import ROOT, free_port

HOST = "labs.example.org"
SETTINGS = ROOT / "deploy" / "nginx.conf"
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def is_here() -> bool:
    """Whether nginx, and what makes its certificate, are on this machine."""
    return all(map(shutil.which, ("nginx", "openssl")))


def line_of(folder: Path, port: int, behind: int) -> list[str]:
    """Write what it needs into a folder; return the line that starts it, in front of a service.

    It answers by TLS at ``port``, with the certificate ``cert.pem``; the service is at ``behind``.
    """
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    names = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    whose = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    subprocess.run([*request, *names, *whose], check=True, capture_output=True)
    text = SETTINGS.read_text()
    text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"listen 443", f"listen 127.0.0.1:{port}", text)
    text = re.sub(r"listen 80", f"listen 127.0.0.1:{free_port()}", text)
    text = re.sub(r"(ssl_certificate +)\S+;", rf"\1{folder}/cert.pem;", text)
    text = re.sub(r"(ssl_certificate_key +)\S+;", rf"\1{folder}/key.pem;", text)
    text = text.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{behind}")
    kept = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in TEMPORARY)
    head = f"user root;\npid {folder}/nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{kept}"
    (folder / "nginx.conf").write_text(f"{head}{text}}}\n")
    order = ["nginx", "-p", str(folder), "-c", "nginx.conf", "-g", "daemon off;"]
    return [*order, "-e", str(folder / "nginx.log")]


class ToNginx(httpx.HTTPTransport):
    """Sends what is for the course's address to nginx here, whose certificate it knows."""

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__(verify=ssl.create_default_context(cafile=str(folder / "cert.pem")))
        self._port = port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request there under its own name."""
        request.extensions = {**request.extensions, "sni_hostname": request.url.host}
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return super().handle_request(request)
