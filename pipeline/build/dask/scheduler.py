"""The scheduler of a cluster: its address, the files that authenticate it, and connecting to it.

Dask's own configuration applies as in any Dask program; TLS files that are given here come first.
Everything that Dask would report as a Python exception is checked before it gets the chance.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass

from distributed import Client, Security
from distributed.comm import CommClosedError

from pipeline.build.dask.error import ClusterError

TLS = "tls://"
# The last because Ctrl-C inside of a call leaves a callback behind, which fails in the loop.
LOGGERS = ("distributed", "distributed.client", "distributed.comm", "tornado.application")
NEEDED_FOR_TLS = (
    "set CARTWRIGHT_SCHEDULER_TLS_CA, CARTWRIGHT_SCHEDULER_TLS_CERT and "
    "CARTWRIGHT_SCHEDULER_TLS_KEY"
)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files; "" where Dask's configuration decides. The key may be in `cert`."""

    ca: str = ""
    cert: str = ""
    key: str = ""

    def security(self) -> Security:
        """Return the settings of Dask with these files, which make encryption a requirement."""
        if not (self.ca or self.cert or self.key):
            return Security()
        # A field that is left out comes from Dask's configuration. A certificate and its key belong
        # together: where one is given here, the other is not taken from there.
        given: dict[str, str | None] = {"tls_ca_file": self.ca} if self.ca else {}
        if self.cert or self.key:
            given |= {"tls_client_cert": self.cert or None, "tls_client_key": self.key or None}
        return Security(require_encryption=True, **given)


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Where the scheduler is, how it is authenticated, and how long to wait for it."""

    address: str
    wait_seconds: float
    tls: TlsFiles = TlsFiles()

    def connect(self) -> Client:
        """Connect, or raise a ClusterError that says what is wrong."""
        quiet_loggers()
        security = self._security()
        try:
            return Client(
                self.address,
                timeout=self.wait_seconds,
                security=security,
                set_as_default=False,  # a task of the project may have a client of its own
                name="cartwright",
            )
        except (OSError, TimeoutError) as error:
            raise ClusterError(f"{self.address}: {_reason(error, security)}") from error
        except ValueError as error:  # an address that Dask cannot parse
            raise ClusterError(f"{self.address}: {error}") from error

    def _security(self) -> Security:
        """Return checked settings: a client that fails to use them would hang when it is freed."""
        try:
            security = self.tls.security()
        except ValueError as error:  # in Dask's configuration
            raise ClusterError(f"{self.address}: {error}") from error
        if not self.address.startswith(TLS):
            if security.require_encryption:
                raise ClusterError(
                    f"{self.address}: encryption is required, so the address has to begin "
                    f"with {TLS}"
                )
            return security
        if not (security.tls_ca_file and security.tls_client_cert):
            raise ClusterError(
                f"{self.address}: a CA and a certificate are needed; {NEEDED_FOR_TLS}"
            )
        _check_files(security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
        return security


def quiet_loggers() -> None:
    """Silence Dask, whose messages would repeat ours."""
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _check_files(ca: str, cert: str, key: str | None) -> None:
    if any("\n" in (one or "") for one in (ca, cert, key)):  # Dask also takes the PEM text itself
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(ca)
    except OSError as error:
        raise ClusterError(f"{ca}: no CA can be read from it: {_words(error)}") from None
    try:
        # With a password given OpenSSL does not ask for one at the terminal.
        context.load_cert_chain(cert, key, password="")
    except OSError as error:
        beside = f" with the key {key}" if key else ""
        raise ClusterError(
            f"{cert}: it cannot be used as a certificate{beside}: {_words(error)}"
        ) from None


def _words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "it is no PEM file").lower().replace("_", " ")
    return (error.strerror or str(error)).lower()


def _reason(error: BaseException, security: Security) -> str:
    """Return why there is no connection, from the chain of exceptions."""
    # Dask wraps the TLS error in its own timeout and connection errors, several levels deep.
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    for one in chain:
        if isinstance(one, ssl.SSLCertVerificationError):
            problem = f"the scheduler's certificate is refused: {one.verify_message}"
            return f"{problem}\nIt has to be signed by the CA in {security.tls_ca_file}."
    # A scheduler that does not accept us only closes the connection, and never says why.
    if isinstance(error, CommClosedError):
        problem = "the scheduler closed the connection"
        if security.tls_client_cert:
            hint = f"It may not trust the certificate {security.tls_client_cert}"
            return f"{problem}\n{hint}, or not use TLS."
        return f"{problem}\nIt may use TLS: the address then begins with {TLS}."
    return "the scheduler cannot be reached"
